"""Step 3: the engine's steps with an eye on them: people are told where a run stands, and once."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog
from structlog.contextvars import bound_contextvars

from agents.ports import Json, Reporter, Steps, Usage
from app.observability.tracing import span
from app.store.runs.runs import Runs

log = structlog.get_logger()


class Held:
    """The port `Reporter`, holding back what an earlier process has told already.

    A run that waits is replayed at every start of the server. Telling people the same once more
    would ask GitHub about each of perhaps a thousand comments.
    """

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._held: list[Callable[[], None]] | None = []

    def release(self) -> None:
        """Tell all of it, and from now on everything at once: the run goes on."""
        held, self._held = self._held or [], None
        for tell in held:
            tell()

    def stage_started(self, stage: str, title: str) -> None:
        """Pass on."""
        self._pass(partial(self._reporter.stage_started, stage, title))

    def stage_finished(self, stage: str, summary: str) -> None:
        """Pass on."""
        self._pass(partial(self._reporter.stage_finished, stage, summary))

    def tool_called(self, stage: str, tool: str, subject: str) -> None:
        """Pass on."""
        self._pass(partial(self._reporter.tool_called, stage, tool, subject))

    def spent(self, usage: Usage, cost_usd: float, answers: int) -> None:
        """Pass on."""
        self._pass(partial(self._reporter.spent, usage, cost_usd, answers))

    def parked(self, stage: str, approvals: Sequence[str]) -> None:
        """Pass on."""
        self._pass(partial(self._reporter.parked, stage, approvals))

    def paused(self, stage: str, why: str) -> None:
        """Pass on."""
        self._pass(partial(self._reporter.paused, stage, why))

    def _pass(self, tell: Callable[[], None]) -> None:
        if self._held is None:
            tell()
        else:
            self._held.append(tell)


class Watched:
    """The port `Steps` of one run, noting each step in its row."""

    def __init__(self, steps: Steps, runs: Runs, run_id: str) -> None:
        self._steps = steps
        self._runs = runs
        self._run_id = run_id
        self.goes_on: Callable[[], None] = lambda: None
        """Called before anything is done that no earlier process did."""
        self.rests: Callable[[], Awaitable[None]] | None = None
        """Called when the run begins to wait for people."""
        self.stands: Callable[[], Awaitable[None]] | None = None
        """Called when it has waited, before anything is done; raises when it is not to go on."""

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:
        """Have it done, and note that it began."""

        async def noted() -> Json:
            self.goes_on()
            await self._runs.started(self._run_id, name)
            with bound_contextvars(stage=name), span(name):
                began = time.monotonic()
                result = await work()
                log.info("step done", seconds=round(time.monotonic() - began, 1))
                return result

        return await self._steps.step(name, noted)

    async def wait(
        self, name: str, over: Callable[[], Awaitable[bool]], *, until: float | None = None
    ) -> None:
        """Wait; unless it is over at once, note that the run is parked, and let it rest."""
        parked = False

        async def noted() -> bool:
            nonlocal parked
            if await over():
                return True
            if not parked:
                await self._park(name)
                parked = True
            return False

        await self._steps.wait(name, noted, until=until)
        if self.stands is not None:
            await self.stands()

    async def _park(self, name: str) -> None:
        if not await self._runs.is_parked(self._run_id):  # else an earlier process told people
            self.goes_on()
            log.info("run parked", waits=name)
        await self._rest()
        await self._runs.parked(self._run_id)

    async def _rest(self) -> None:
        try:
            if self.rests is not None:
                await self.rests()
        except Exception:  # it only holds more than it needs to
            log.exception("could not put everything away")

    async def boundary(self) -> None:
        """Pass on."""
        await self._steps.boundary()


class Unrecorded:
    """The port `Steps` where there is nothing left to record, and nothing to wait for."""

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:  # noqa: ARG002 the port has it
        """Do it."""
        return await work()

    async def wait(
        self, name: str, over: Callable[[], Awaitable[bool]], *, until: float | None = None
    ) -> None:
        """Return."""

    async def boundary(self) -> None:
        """Return."""
