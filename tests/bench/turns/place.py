"""Where the bench `turns` happens: the real server, a GitHub and a model on loopback."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from app.demo.server_process import ServerProcess
from app.registration.manifest import app_manifest
from app.simulator.github import LocalGitHub
from app.simulator.github.accounts import Account
from app.simulator.github.state.world import Issue, Repository
from app.simulator.model import LocalModel, Script
from app.simulator.model.ledger import LoggedRequest
from app.store.database import Database
from app.store.tables import runs
from tests.bench.turns.processes import Cpu, Orphans, cpu_of
from tests.bench.turns.script import issue_text, repository_files

LABEL, LABEL_ADDRESS = "bot:resolve", "bot:address"
PATIENCE = 900.0
LOOK_SECONDS = 0.05
ENDED_WELL = re.compile(r'"kind":"(?:pull_request|comment)"')
NOT_YET = ("queued", "running", "parked")


@dataclass(frozen=True)
class Work:
    """What one or several runs took, from the label to the last pull request."""

    answers: int
    wall: float
    cpu: Cpu
    model: float
    """Seconds that the server waited for answers."""
    commands: float
    """Seconds that commands took in sandboxes."""
    asked: list[LoggedRequest]

    def own_wall(self, latency: float) -> float:
        """Return the wall time that is neither the model's latency nor a command's."""
        return self.wall - self.answers * latency - self.commands


@dataclass
class BenchPlace:
    """Repositories with issues, watched over by the real server."""

    github: LocalGitHub
    model: LocalModel
    server: ServerProcess
    repositories: list[Repository]
    author: Account
    maintainer: Account
    orphans: Orphans

    @property
    def pid(self) -> int:
        """Return the server's process."""
        assert self.server.process is not None
        return self.server.process.pid

    def cpu(self) -> Cpu:
        """Return what the server used so far, and what it started, sandboxes included."""
        used = cpu_of(self.pid)
        return Cpu(used.own, used.children + self.orphans.reap())

    async def file(self, number: int) -> list[tuple[Repository, Issue]]:
        """File so many issues, spread over the repositories."""
        title, body = issue_text()
        chosen = [self.repositories[n % len(self.repositories)] for n in range(number)]
        return [(r, await self.github.create_issue(r, self.author, title, body)) for r in chosen]

    async def resolve(self, script: Script, number: int = 1) -> Work:
        """Have so many issues resolved at the same time; return what that took."""
        self.model.play(script)
        filed = await self.file(number)
        return await self.work_on([(each, issue.number) for each, issue in filed], LABEL)

    async def work_on(self, lanes: Sequence[tuple[Repository, int]], label: str) -> Work:
        """Label these issues or pull requests; return what their runs took."""
        asked, numbers = len(self.model.requests), await self.server.numbers()
        cpu, began = self.cpu(), time.monotonic()
        for repository, number in lanes:
            await self.github.label_issue(repository, number, label, self.maintainer)
        await self._until_done(lanes)
        wall, used, now = time.monotonic() - began, self.cpu(), await self.server.numbers()
        return Work(
            answers=len(self.model.requests) - asked,
            wall=wall,
            cpu=used - cpu,
            model=_difference(numbers, now, "fettle_model_seconds_total"),
            commands=_difference(numbers, now, "fettle_command_seconds_total"),
            asked=self.model.requests[asked:],
        )

    async def _until_done(self, labelled: Sequence[tuple[Repository, int]]) -> None:
        lanes = {(repository.full_name, number) for repository, number in labelled}
        query = select(runs.c.repository, runs.c.number, runs.c.state, runs.c.outcome)
        database = Database(self.server.database_url)
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    rows = await database.read(lambda c: c.execute(query).all())
                    ended = [r for r in rows if tuple(r[:2]) in lanes and r.state not in NOT_YET]
                    if len(ended) == len(lanes):
                        break
                    await asyncio.sleep(LOOK_SECONDS)
        finally:
            database.close()
        if wrong := [row.outcome for row in ended if not ENDED_WELL.search(row.outcome)]:
            raise SystemExit(f"{len(wrong)} of {len(ended)} runs failed, one with {wrong[0]}")


def _difference(before: dict[str, float], after: dict[str, float], name: str) -> float:
    return after.get(name, 0.0) - before.get(name, 0.0)


@asynccontextmanager
async def open_place(
    *, latency: float, repositories: int = 1, at_once: int = 4, **settings: str
) -> AsyncIterator[BenchPlace]:
    """Set it up, with a model that takes `latency` seconds for an answer; clear it all away."""
    root = Path(tempfile.mkdtemp(prefix="fettle-bench-"))
    root.chmod(0o711)  # sandboxes are another user and must get through
    github = await LocalGitHub.start(root / "github")
    model = await LocalModel.start(Script(()), latency=latency)
    more = {"FETTLE_STAGES_AT_ONCE": str(at_once), "FETTLE_LOG_LEVEL": "warning", **settings}
    server = ServerProcess(root / "fettle", github.url, model.url, more=more)
    try:
        yield await _make_place(github, model, server, root / "source", repositories)
    finally:
        await server.stop()
        await model.stop()
        await github.stop()
        shutil.rmtree(root, ignore_errors=True)


async def _make_place(
    github: LocalGitHub, model: LocalModel, server: ServerProcess, source: Path, number: int
) -> BenchPlace:
    source.mkdir()
    for name, text in repository_files().items():
        (source / name).write_text(text)
    owner = github.create_organization("octo-org")
    author, maintainer = github.create_user("jonas"), github.create_user("mara")
    made = [
        await github.create_repository(owner, f"calc-{n}", source=source) for n in range(number)
    ]
    for repository in made:
        github.set_role(repository, maintainer, "maintain")
    app = github.create_app(
        "fettle",
        webhook_url=f"{server.url}/webhook",
        webhook_secret=server.webhook_secret,
        permissions=app_manifest().default_permissions,
        events=app_manifest().default_events,
    )
    await github.install(app.app_id, made)
    await server.start(app)
    return BenchPlace(github, model, server, made, author, maintainer, Orphans())
