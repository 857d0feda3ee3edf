"""An issue on the local GitHub, and the command line beside it, with and without a server."""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import structlog

from app.cli.resolve.work_on_issue import work_on
from app.config.settings import load_settings
from app.operator.issue_reference import IssueName
from app.operator.issue_request import Wanted
from app.registration.manifest import app_manifest
from app.simulator.github import LocalGitHub
from app.simulator.github.gitdir import GitDir
from app.simulator.model import LocalModel
from app.simulator.model.script import Script
from app.store.database import Database
from app.store.runs.history import History
from app.store.runs.runs import Runs
from tests.flows.forked import ForkedServer
from tests.patience import PATIENCE

FILES = {
    "calc.py": "def add(a, b):\n    return a + b + 1\n",
    "check.py": "import calc\nassert calc.add(0, 0) < 2\n",
    ".github/fettle.yml": "quality:\n  - {name: sums, run: python3 -B check.py}\n",
}
ISSUE = ("Add without one", "`calc.add(1, 1)` gives 3 and should give 2.")


def part(when, *calls):
    return {"when": when, "turns": [{"call": [call]} for call in calls]}


def triage(decision):
    words = {"kind": "feature", "reasoning": "Ran it.", "detail": "In calc.py, drop the one."}
    return part("# Triage", {"submit_triage": {"decision": decision, **words}})


TRIAGE = triage("action_direct")
STEP = {"title": "Add without one", "brief": "In calc.py, add() must return a + b."}
PLAN = part("# Plan the steps", {"submit_plan": {"steps": [STEP]}})
IMPLEMENT = part(
    "# Implement step 1 of 1",
    {"edit": {"path": "calc.py", "old": "a + b + 1", "new": "a + b"}},
    {"submit_step": {"summary": "It added one too many.", "tried": "Ran it."}},
)
JUDGE = part("# Evaluate", {"submit_evaluation": {"verdict": "pass", "reasoning": "Ran it."}})
DOCS = part("# Review the doc", {"submit_docs": {"changed": False, "summary": "None needed."}})
WORDS = {
    "branch": "add-without-one",
    "title": "Add without one too many",
    "why": "The sum was one too large, because of a constant without a reason.",
    "rejected": "",
    "notes": "",
}
PULL = part("# Write the pull request", {"submit_pull_request": WORDS})
GOOD = (TRIAGE, PLAN, IMPLEMENT, JUDGE, DOCS, PULL)


@dataclass
class OperatorPlace:
    """All of it on loopback; the server is not started."""

    github: LocalGitHub
    model: LocalModel
    server: ForkedServer
    app: object
    repository: object
    issue: object
    people: dict

    @property
    def data(self):
        return self.server.data

    def settings(self, **more):
        """Return what the operator of the server has in the environment."""
        environment = self.server.environment(self.app)
        key = Path(environment["FETTLE_PRIVATE_KEY_FILE"])
        key.parent.mkdir(mode=0o711, exist_ok=True)
        key.touch(mode=0o600)
        key.write_text(self.app.private_key)
        return load_settings({**environment, **more})

    async def play(self, *script, latency=0.0):
        """Have the model play these parts from now on, before the server starts."""
        await self.model.stop()
        self.model = await LocalModel.start(Script.model_validate(script), latency=latency)
        self.server.model_url = self.model.url

    async def resolve(self, *, again=None, json=False):
        """Do what the command does, in this process: the start of another takes seconds."""
        name = IssueName("octo-org", "calc", self.issue.number)
        async with asyncio.timeout(PATIENCE):
            return await work_on(self.settings(), Wanted(name, again=again), json=json)

    async def look(self, work):
        """Do this with the database of the server."""
        database = Database(self.server.database_url)
        try:
            await asyncio.to_thread(database.migrate)
            return await work(database)
        finally:
            database.close()

    async def newest(self):
        """Return the newest run, as the store knows it; None before the first."""

        async def work(database):
            found = await History(database).newest(1)
            return found[0] if found else None

        return await self.look(work)

    async def request(self, run_id):
        return await self.look(lambda database: Runs(database).request(run_id))

    async def wait_until(self, true):
        async with asyncio.timeout(PATIENCE):
            while not (found := await true()):
                await asyncio.sleep(0.05)
        return found

    @property
    def page(self):
        return f"{self.github.url}/{self.repository.full_name}/issues/{self.issue.number}"

    def pulls(self):
        issues = sorted(self.repository.issues.values(), key=lambda issue: issue.number)
        return [issue.pull for issue in issues if issue.pull is not None]

    async def messages(self, pull):
        """Return the messages of the pull request's commits."""
        found = await GitDir(self.repository.gitdir).commits(f"{pull.base_sha}..{pull.head_sha}")
        return [commit.message for commit in found]

    def comments(self):
        return [comment.body for comment in self.issue.comments]


@pytest.fixture
async def place():
    """A repository with an issue, and nobody who works on it."""
    root = Path(tempfile.mkdtemp(prefix="fettle-terminal-"))
    root.chmod(0o711)  # sandboxes are another user and must get through; pytest's may not
    source = root / "source"
    for path, text in FILES.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    github = await LocalGitHub.start(root / "github")
    model = await LocalModel.start(Script.model_validate(GOOD))
    server = ForkedServer(root / "fettle", github.url, model.url)
    made = await _settle(github, model, server, source)
    handlers = logging.getLogger().handlers[:]
    yield made
    logging.getLogger().handlers = handlers  # a run sends the log to a file
    structlog.reset_defaults()
    await server.stop()
    await made.model.stop()
    await github.stop()
    shutil.rmtree(root, ignore_errors=True)


async def _settle(github, model, server, source):
    people = {name: github.create_user(name) for name in ("mara", "jonas")}
    owner = github.create_organization("octo-org")
    repository = await github.create_repository(owner, "calc", source=source)
    github.set_role(repository, people["mara"], "maintain")
    github.set_role(repository, people["jonas"], "read")
    app = github.create_app(
        "fettle",
        webhook_url=f"{server.url}/webhook",
        webhook_secret=server.webhook_secret,
        permissions=app_manifest().default_permissions,
        events=app_manifest().default_events,
    )
    await github.install(app.app_id, [repository])
    issue = await github.create_issue(repository, people["jonas"], *ISSUE)
    return OperatorPlace(github, model, server, app, repository, issue, people)
