"""The whole of Fettle on loopback: a GitHub, a model, and the real server as its own process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy import bindparam, func, select

from app.demo.server_process import ServerProcess
from app.registration.manifest import app_manifest
from app.sandbox.path_permissions import make_passable
from app.simulator.github import LocalGitHub
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.world import Actor
from app.simulator.model import LocalModel, load_script
from app.store.database import Database
from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from app.store.tables import deliveries, runs, turns
from tests.flows import used
from tests.flows.forked import ForkedServer
from tests.flows.keeping import Keep
from tests.flows.scripted import SCRIPT, SHORT
from tests.patience import PATIENCE
from tests.referees.conftest import packages, rest_referee, webhook_referee

__all__ = ["SCRIPT", "packages", "rest_referee", "webhook_referee"]  # three fixtures of referees

LABEL = "bot:resolve"
CALC = {
    "calc.py": "def add(a, b):\n    return a + b + 1\n",
    "test_calc.py": (
        "import unittest\n\nimport calc\n\n\nclass Sums(unittest.TestCase):\n"
        "    def test_zero(self):\n"
        "        self.assertEqual(calc.add(0, 0) - calc.add(0, 0), 0)\n"
    ),
}
CHECK = "quality: [{name: tests, run: python3 -B -m unittest -q}]\n"
CHECKED = CALC | {".github/fettle.yml": CHECK}
"""Its policy names its check: to find that out would take a sixth of a run."""
ISSUE = ("It adds one too many", "`calc.add(1, 1)` gives 3 and should give 2.")


def write_policy(text):
    """Return the usual files with this in the policy, which names the check."""
    return CALC | {".github/fettle.yml": f"{CHECK}{text}\n"}


_RUN = runs.c["id", "number", "state", "created_at"]
_OURS = select(*_RUN).order_by(_RUN.created_at).offset(bindparam("past")).subquery()
RUNS = (  # to write it takes longer than to ask it
    select(*_OURS.c["id", "number", "state"])
    .add_columns(func.min(turns.c.created_at), func.max(turns.c.created_at))
    .join_from(_OURS, turns, turns.c.run_id == _OURS.c.id, isouter=True)
    .group_by(*_OURS.c)
    .order_by(_OURS.c.created_at)
)
LOOK = 0.1  # seconds between two looks into the server's database: each costs it a millisecond
UNFINISHED = {"queued", "running", "parked"}
_CHANCE = re.compile(r"<!--.*?-->|`000.*?`|<sub>.*|[0-9a-f]{10}|127\.0\.0\.1:\d+")


@dataclass(repr=False)  # the whole of GitHub is in it: a failed test would write for hours
class Place:
    """A repository on the local GitHub with an issue, watched over by the real server."""

    github: LocalGitHub
    model: LocalModel
    server: ServerProcess
    app: object
    repository: object
    issue: object
    people: dict
    databases: list = field(default_factory=list)
    opened: dict = field(default_factory=dict)
    past: int = 0
    """Runs that were before this story began."""
    told: list = field(default_factory=list)
    """Tokens that were handed out before it."""

    async def move(self, files=None, issue=ISSUE, script=SHORT):
        """Go on in another repository, as if nothing had been before; the server goes on."""
        self.past += len(await self.runs())
        self.told = self.tokens()
        for each in (
            self.model,
            self.github.faults,
            self.github.requests,
            self.github.webhooks.log,
        ):
            each.clear()
        self.model.play(load_script(script) if isinstance(script, Path) else script)
        name = f"calc-{len(self.github.world.repositories)}"
        owner = self.repository.owner
        self.repository = await _create(self.github, self.people, owner, name, files or CHECKED)
        self.issue = await self.file(*issue)
        [installation] = self.github.world.installations.values()
        await self.github.add_repositories(installation, [self.repository])

    async def is_at_rest(self):
        """Tell whether all that was sent has been worked on, and no run is under way."""
        waiting = select(deliveries.c.id).where(deliveries.c.state == "received").limit(1)
        async with asyncio.timeout(PATIENCE):
            while await self.database().read(lambda c: c.execute(waiting).all()):
                await asyncio.sleep(LOOK)
        return not {run.state for run in await self.runs()} & UNFINISHED

    async def label(self, by="mara", issue=None):
        """Set the label; GitHub sends its signed webhook."""
        return await self.github.label_issue(
            self.repository, (issue or self.issue).number, LABEL, self.people[by]
        )

    async def label_and_kill(self, number):
        """Set the label, and kill the server when the model is asked for this answer."""
        killed = self.kill_at(number)
        await self.label()
        await killed()

    def kill_at(self, number):
        """Have the server killed when the model is asked for this answer; return what waits."""
        killed = asyncio.Event()

        async def kill(asked):
            if asked.number == number:
                await self.server.kill()
                killed.set()

        self.model.on_request(kill)
        return lambda: asyncio.wait_for(killed.wait(), PATIENCE)

    async def label_again(self, by):
        """Take the label off and have somebody put it on again at once."""
        await self.github.unlabel_issue(self.repository, self.issue.number, LABEL, self.people[by])
        return await self.label(by)

    async def file(self, title, body):
        """File another issue."""
        return await self.github.create_issue(self.repository, self.people["jonas"], title, body)

    async def runs(self):
        """Return all runs, oldest first: id, number of the issue, state, first and last turn."""
        return await self.database().read(lambda c: c.execute(RUNS, {"past": self.past}).all())

    def database(self):
        """Return the server's database, kept open: opening it takes longer than reading it."""
        url = self.server.database_url
        file = Path(url.removeprefix("sqlite:///"))
        key = (url, file.stat().st_ino if file.exists() else 0)
        if key not in self.opened:
            self.opened[key] = Database(url)
        return self.opened[key]

    async def all_done(self, number):
        """Wait until that many runs are done; return them."""
        return await self.all_over(*["done"] * number)

    async def all_over(self, *states):
        """Wait until so many runs are over, and in these states, oldest first; return them."""
        found = await self.wait_for_ends(len(states))
        assert [run.state for run in found] == list(states), self.comments()
        return found

    async def wait_for_ends(self, number):
        """Wait until that many runs are over, in whatever way; return them."""
        found = []
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    found = await self.runs()
                    if len(found) == number and not {run.state for run in found} & UNFINISHED:
                        return found
                    await asyncio.sleep(LOOK)
        except TimeoutError:
            pytest.fail(f"of {number} runs there are {found}, and people read {self.comments()}")

    async def wait_for_end(self):
        """Wait for the run to end, whichever process ends it; return its outcome."""
        async with asyncio.timeout(PATIENCE):
            while True:
                run = await self.latest()
                if run is not None and run[1] is not None:
                    return run[1]
                await asyncio.sleep(LOOK)

    async def latest(self):
        """Return id and outcome of the newest run, if there is one yet."""
        begun = not self.past or await self.runs()
        return await Runs(self.database()).latest() if begun else None

    async def ends(self, kind):
        """Wait for the run to end in this way; return its outcome."""
        outcome = await self.wait_for_end()
        assert outcome.kind == kind, outcome.text
        return outcome

    async def wait_for_parked(self):
        """Wait until the newest run waits for people; return its id."""
        async with asyncio.timeout(PATIENCE):
            while not (found := await self.runs()) or found[-1].state != "parked":
                await asyncio.sleep(LOOK)
        return found[-1].id

    async def wait_until(self, true):
        """Wait until the condition holds."""
        async with asyncio.timeout(PATIENCE):
            while not true():
                await asyncio.sleep(0.02)

    async def kill_and_restart(self):
        """End the server as a power cut would, and start it again on the same disk."""
        await self.server.kill()
        await self.server.start(self.app)

    def pulls(self):
        """Return the pull requests."""
        issues = sorted(self.repository.issues.values(), key=lambda issue: issue.number)
        return [issue.pull for issue in issues if issue.pull is not None]

    def comments(self):
        """Return the bodies of the comments on the issue."""
        return [comment.body for comment in self.issue.comments]

    async def commits(self, pull):
        """Return tree and message of the pull request's commits, oldest first."""
        commits = await GitDir(self.repository.gitdir).commits(f"{pull.base_sha}..{pull.head_sha}")
        return [
            (c.tree, re.sub(r"Fettle-Run: .*", "Fettle-Run:", c.message)) for c in reversed(commits)
        ]

    async def end_state(self):
        """Return all that people are left with, less what differs from run to run."""
        return {
            "pulls": [
                {
                    "title": pull.issue.title,
                    "branch": pull.head.rsplit("-", 1)[0],
                    "draft": pull.draft,
                    "commits": await self.commits(pull),
                }
                for pull in self.pulls()
            ],
            "comments": [_CHANCE.sub("", body) for body in self.comments()],
            "reactions": [(r.user.login, r.content) for r in self.issue.reactions],
            "branches": sorted(
                re.sub(r"-[0-9a-f]{6}$", "", ref)
                for ref in await GitDir(self.repository.gitdir).refs()
            ),
        }

    async def say(self, who, body, issue=None):
        """Write a comment on the issue; return it."""
        number = (issue or self.issue).number
        return await self.github.comment(self.repository, number, self.people[who], body)

    async def wait_for_comment(self, text):
        """Wait for a comment with this text while the run goes on; return its body."""
        async with asyncio.timeout(PATIENCE):
            while True:
                runs = await self.runs()
                for body in self.comments():
                    if text in body:
                        return body
                over = runs and runs[-1].state not in UNFINISHED
                assert not over, f"{text!r} in none of {self.comments()}"
                await asyncio.sleep(LOOK)

    def progress(self):
        """Return the progress comment of the newest run."""
        return [body for body in self.comments() if "key=progress" in body][-1]

    def labels(self):
        """Return the names of the issue's labels."""
        return {label.name for label in self.issue.labels}

    async def show(self, commit, path):
        """Return a file as a branch or commit of the repository has it."""
        return (await GitDir(self.repository.gitdir).run("show", f"{commit}:{path}")).decode()

    async def branches(self):
        """Return the names of Fettle's branches."""
        refs = await GitDir(self.repository.gitdir).refs()
        return sorted(r.removeprefix("refs/heads/") for r in refs if r.startswith("refs/heads/bot"))

    def actor(self, login):
        """Return somebody as the doer of something on GitHub."""
        return Actor(self.people[login])

    async def turns(self, session):
        """Return the turns of a session of the newest run."""
        database = self.database()
        run_id, _ = await Runs(database).latest()
        return await StoredJournal(database, run_id).turns(session)

    async def read_results(self, session):
        """Return what the tools told the model in a session of the newest run."""
        blocks = [block for turn in await self.turns(session) for block in turn.content]
        return "\n".join(b["content"] for b in blocks if b["type"] == "tool_result")

    async def read_prompts(self, session):
        """Return what the model was told in a session of the newest run, but for tools' results."""
        turns = [turn for turn in await self.turns(session) if turn.kind != "answer"]
        blocks = [block for turn in turns for block in turn.content]
        return "\n".join(block["text"] for block in blocks if block["type"] == "text")

    async def redeliver(self, delivery):
        """Have GitHub send the delivery again; return the new attempt."""
        webhooks = self.github.webhooks
        [again] = await webhooks.send_caused(lambda: webhooks.redeliver(delivery))
        return again

    def tokens(self):
        """Return every installation token that was handed out."""
        asked = [e for e in self.github.requests if e.path.endswith("/access_tokens")]
        minted = [exchange for exchange in asked if exchange.status == 201]
        return [*self.told, *(json.loads(exchange.answer)["token"] for exchange in minted)]

    def secrets(self):
        """Return the values that must not appear anywhere."""
        own = (self.server.webhook_secret, self.app.private_key.splitlines()[3])
        return [*own, self.app.client_secret, *self.tokens()]


@pytest.fixture
def make_place(request, sqlite_template):
    """Return a context manager that sets up a Place with these files, issue and script.

    `kind=ServerProcess` is for tests in which somebody looks at the server's process from outside;
    it also makes its database. Others find one: to make it takes as long as much of a run.
    """

    @asynccontextmanager
    async def make(files=None, issue=ISSUE, script=SHORT, kind=ForkedServer, **more):
        story = {"files": files, "issue": issue, "script": script}
        async with _open(sqlite_template, more, kind=kind, **story) as place:
            try:
                yield place
            finally:
                used.tell(request.node, place.github.tokens.used)

    return make


@asynccontextmanager
async def _open(template, more, *, files=None, issue=ISSUE, script=SHORT, kind=ForkedServer):
    root = Path(tempfile.mkdtemp(prefix="fettle-flow-"))
    root.chmod(0o711)  # sandboxes are another user and must get through; pytest's may not
    github = await LocalGitHub.start(root / "github")
    model = await LocalModel.start(script)
    server = kind(root / "fettle", github.url, model.url, more=more)
    if isinstance(server, ForkedServer) and "FETTLE_DATABASE_URL" not in more:
        make_passable(server.data)
        shutil.copy(template, server.data / "fettle.db")
    place = await _settle(github, model, server, files, issue)
    try:
        await server.start(place.app)
        yield place
    finally:
        for database in (*place.databases, *place.opened.values()):
            database.close()
        await server.stop()
        await model.stop()
        await github.stop()
        shutil.rmtree(root, ignore_errors=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kept():
    """What holds a module's server between its tests."""
    made = Keep(_open)
    yield made
    await made.close()


@pytest.fixture
def share_place(request, make_place, sqlite_template, kept):
    """Return what does as `make_place`, with one server for all tests of a module.

    Each has a repository of its own, `CHECKED` where it says nothing else. Who wants settings gets
    a server of their own; who fails, or leaves a run under way, takes the server along. All have
    one event loop: the module's mark is `ONE_LOOP`.
    """

    @asynccontextmanager
    async def share(files=None, issue=ISSUE, script=SHORT, **more):
        if more:
            async with make_place(files or CHECKED, issue, script, **more) as place:
                yield place
            return
        async with kept.lend(request.node, (files, issue, script), sqlite_template, {}) as place:
            yield place

    return share


async def _create(github, people, owner, name, files):
    with tempfile.TemporaryDirectory(prefix="fettle-source-") as folder:
        for path, text in (files or CALC).items():
            source = Path(folder, path)
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
        made = await github.create_repository(owner, name, source=Path(folder))
    for login, role in (("mara", "maintain"), ("jonas", "read"), ("eve", "triage")):
        github.set_role(made, people[login], role)
    return made


async def _settle(github, model, server, files, issue):
    people = {name: github.create_user(name) for name in ("mara", "jonas", "eve")}
    owner = github.create_organization("octo-org")
    repository = await _create(github, people, owner, "calc", files)
    # Before the App is there: what GitHub could not deliver yet it would be asked for later.
    filed = await github.create_issue(repository, people["jonas"], *issue)
    manifest = app_manifest()  # what is not asked for there, no flow gets
    app = github.create_app(
        "fettle",
        webhook_url=f"{server.url}/webhook",
        webhook_secret=server.webhook_secret,
        permissions=manifest.default_permissions,
        events=manifest.default_events,
    )
    await github.install(app.app_id, [repository])
    return Place(github, model, server, app, repository, filed, people)


def patience():
    """Return how many times as long things take while the machine has other work to do."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@pytest.fixture
def clock():
    """Return the seconds since the test began."""
    began = time.monotonic()
    return lambda: time.monotonic() - began
