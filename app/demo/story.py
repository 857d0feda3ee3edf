"""The demo's three chapters: resolve an issue, address a review, remediate alerts.

It all happens on this machine.

Everything but GitHub and the model is the real thing: the server is a process of its own that
gets a signed webhook, clones, works in its sandbox, pushes and opens the pull request.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from agents.ports import Usage
from agents.run import Outcome
from app.config.settings import load_settings
from app.demo.alerts.chapter import AlertsResult, Chapter, passed_on
from app.demo.alerts.exploit_check import ExploitSandbox
from app.demo.case import DemoCase, load_case
from app.demo.folders import demo_folder, forget_old, share_kits
from app.demo.package_index.server import LocalIndex
from app.demo.result import DemoCost, DemoResult, ReviewResult, collect, collect_review
from app.demo.review_chapter import submit
from app.demo.scene import Scene, set_scene
from app.demo.server_process import ServerProcess
from app.demo.toolchain import make_toolchain
from app.demo.upstream_tests import TestRun, judge
from app.git import file_lock
from app.sandbox.port import Sandbox
from app.sandbox.select import choose
from app.simulator.github import LocalGitHub
from app.simulator.github.state.reviews import Review
from app.simulator.model import LocalModel, Script, load_script
from app.store.database import Database
from app.store.runs import Runs, StoredJournal

PATIENCE = 3600.0  # seconds for each run; with the scripted model it takes about ten
StoryPart = TypeVar("StoryPart", bound="Stoppable")


class Stoppable(Protocol):
    """A part of the demo that runs until it is stopped."""

    async def stop(self) -> None:
        """Stop it."""
        ...


class DemoView(Protocol):
    """Shows people what happens."""

    def note(self, text: str) -> None:
        """Say one thing."""
        ...

    def scene(self, scene: Scene, model: LocalModel | None) -> None:
        """Show what is about to happen."""
        ...

    def tick(self, seconds: float) -> None:
        """Show how far it is."""
        ...

    async def review(self, scene: Scene, review: Review) -> None:
        """Show what somebody has to say about the pull request."""
        ...

    async def alerts(self, chapter: Chapter) -> None:
        """Show what GitHub has found in another repository."""
        ...

    def show_alert_outcome(self, package: str, text: str) -> None:
        """Show what became of one of those."""
        ...

    async def result(self, scene: Scene, result: DemoResult, chapter: Chapter) -> None:
        """Show what came of it."""
        ...


@dataclass
class Demo:
    """One showing. `real_model` holds the operator's model settings, or None for the script."""

    view: DemoView
    stack: AsyncExitStack
    real_model: dict[str, str] | None = None
    port: int = 0
    pages: bool = False
    """Serve Fettle's own pages besides, for people of the local GitHub."""
    pace: float = 0.15
    """Seconds that the scripted model takes for each answer."""

    async def run(self) -> DemoResult:
        """Set the scene, set the label, watch, review, watch, let upstream's tests judge.

        Then have alerts raised, watch, and try the attacks. Raises ConfigError when this machine
        lacks what the demo needs.
        """
        os.umask(0o022)  # sandboxes run as another user, and read much of what the demo makes
        folder = demo_folder()
        cache = folder / "cache"
        cache.mkdir(exist_ok=True)
        self.view.note("Fetching the package and a Python for the sandbox (kept for next time)")
        async with file_lock(cache / "lock"):  # a second demo waits for what the first one fetches
            await asyncio.to_thread(forget_old, folder)
            case, toolchain, chapter = await asyncio.gather(
                load_case("parse", cache), make_toolchain(cache), Chapter.find()
            )
        place = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1000:03}"
        place.mkdir()
        share_kits(place / "fettle", cache)
        return await self._play(case, toolchain, chapter, place)

    async def _play(
        self, case: DemoCase, toolchain: Path, chapter: Chapter, place: Path
    ) -> DemoResult:
        led = passed_on()
        if chapter.made_up:
            releases = [release for each in chapter.cases for release in each.releases]
            led |= (await self._keep(LocalIndex.start(releases))).environment
        github = await self._keep(LocalGitHub.start(place / "github", port=self.port))
        model = None
        if self.real_model is None:
            model = await self._keep(LocalModel.start(_script(case), latency=self.pace))
        server = ServerProcess(
            place / "fettle",
            github.url,
            model.url if model else None,
            (toolchain,),
            more={**led, **(self.real_model or {})},
        )
        scene = await set_scene(github, case, f"{server.url}/webhook", server.webhook_secret)
        pages = server.open_pages(github.world.apps[scene.app.app_id]) if self.pages else None
        self.stack.push_async_callback(server.stop)
        await server.start(scene.app)
        if pages:
            who = scene.maintainer.login
            self.view.note(f"What Fettle does is on {pages}: sign in with GitHub as {who}")
        self.view.scene(scene, model)
        began = time.monotonic()
        await scene.set_label()
        database = Database(server.database_url)
        self.stack.callback(database.close)
        outcome = await self._watch(server, database, began)
        spending = await self._measure_cost(server, database, time.monotonic() - began)
        review = await self._review(case, scene, server, database)
        sandbox = await choose(load_settings({"FETTLE_TOOLCHAINS": str(toolchain)}, serving=False))
        verdicts = await self._judge(case, sandbox, scene, place)
        alerts = await self._alerts(chapter, scene, server, database, (sandbox, place, led))
        result = await collect(scene, outcome, spending, verdicts, review=review, alerts=alerts)
        await self.view.result(scene, result, chapter)
        return result

    async def _alerts(
        self,
        chapter: Chapter,
        scene: Scene,
        server: ServerProcess,
        database: Database,
        trying: tuple[Sandbox, Path, dict[str, str]],
    ) -> AlertsResult | None:
        """Have GitHub find vulnerable packages, and watch until each run about one has ended."""
        if not chapter.cases or server.ended:
            return None
        sandbox, place, led = trying
        await chapter.set(scene, place)
        began, told = time.monotonic(), set[str]()
        await chapter.begin(scene)
        await self.view.alerts(chapter)
        while len(told) < len(chapter.cases) and not server.ended:
            for run in await chapter.runs(database):
                if run.id not in told and run.outcome is not None:
                    told.add(run.id)
                    self.view.show_alert_outcome(run.reference, run.outcome.text)
            if (seconds := time.monotonic() - began) > PATIENCE:
                break
            self.view.tick(seconds)
            await asyncio.sleep(0.05)
        assert chapter.repository is not None, "it was made above"
        laboratory = ExploitSandbox(sandbox, chapter.repository.gitdir, place / "tries", led)
        return await chapter.collect(database, laboratory, time.monotonic() - began)

    async def _review(
        self, case: DemoCase, scene: Scene, server: ServerProcess, database: Database
    ) -> ReviewResult | None:
        """Have the pull request reviewed, and watch how that is addressed."""
        pulls, before = scene.pulls(), await Runs(database).latest()
        if not pulls or before is None or server.ended:
            return None
        head, began = pulls[0].head_sha, time.monotonic()
        review = await submit(scene, pulls[0], case.review)
        await self.view.review(scene, review)
        outcome = await self._watch(server, database, began, after=before[0])
        spending = await self._measure_cost(server, database, time.monotonic() - began)
        return await collect_review(scene, review, head, outcome, spending)

    async def _keep(self, starting: Awaitable[StoryPart]) -> StoryPart:
        part = await starting
        self.stack.push_async_callback(part.stop)
        return part

    async def _watch(
        self, server: ServerProcess, database: Database, began: float, *, after: str = ""
    ) -> Outcome:
        """Follow the run until it ended; a server that dies or hangs is an outcome, too.

        `after`: the run that was the newest one before.
        """
        while (seconds := time.monotonic() - began) < PATIENCE:
            self.view.tick(seconds)
            run = await Runs(database).latest()
            if run is not None and run[0] != after and run[1] is not None:
                return run[1]
            if server.ended:
                return Outcome(kind="failed", text=f"The server stopped. Its log: {server.log}")
            await asyncio.sleep(0.05)
        return Outcome(kind="failed", text=f"No end after {PATIENCE:.0f} s. Log: {server.log}")

    async def _measure_cost(self, server: ServerProcess, database: Database, s: float) -> DemoCost:
        numbers = {} if server.ended else await server.numbers()
        run = await Runs(database).latest()
        spent = await StoredJournal(database, run[0]).sum_usage() if run else (Usage(), 0.0, 0)
        return DemoCost(s, numbers, *spent)

    async def _judge(
        self, case: DemoCase, sandbox: Sandbox, scene: Scene, place: Path
    ) -> tuple[TestRun, TestRun | None]:
        """Run upstream's tests on the default branch and on the pull request's head."""
        gitdir, pulls = scene.repository.gitdir, scene.pulls()
        before = await judge(case, sandbox, gitdir, "main", place)
        if not pulls:
            return before, None
        return before, await judge(case, sandbox, gitdir, pulls[0].head_sha, place)


def _script(case: DemoCase) -> Script:
    """Return what the model answers in both chapters."""
    chapters = (case.script, case.review_script)
    return Script(tuple(part for chapter in chapters for part in load_script(chapter).root))
