"""Step 3: what a run asks of the engine: a step recorded, a boundary passed, a decision awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import Any

import structlog

from agents.errors import TransientError
from agents.ports import Json

STEP_ATTEMPTS = 6
RETRY_SECONDS = 2.0  # doubled each time: 62 s of waiting in all
LONGEST_WAIT = 900.0
LOOK_SECONDS = 300.0
"""After which a waiting run looks by itself, in case nobody woke it."""

log = structlog.get_logger()


class StepGivenUp(Exception):
    """A step cannot be done: what it depends on kept failing. The text is the last reason."""


class StepBroken(Exception):
    """A step raised what it must not raise: a mistake of ours. The log has the details."""


Record = Callable[[str, Callable[[], Awaitable[Json]]], Awaitable[Json]]
"""Does something once, keeps its JSON under a name, and returns it ever after."""


class Floor:
    """What the steps of all runs of one process share."""

    def __init__(
        self, places: int, record: Record, retry_seconds: float, look_seconds: float
    ) -> None:
        self.gate = asyncio.Event()
        """Set while steps may begin."""
        self.places = asyncio.Semaphore(places)
        self.record = record
        self.working: set[EngineSteps] = set()
        """Steps that a shutdown has to wait for, until their result is recorded."""
        self.waiting: dict[str, asyncio.Event] = {}
        """The runs that wait for people, by id."""
        self.retry_seconds = retry_seconds
        self.look_seconds = look_seconds


class EngineSteps:
    """The port `Steps`: one recorded step for each stage occurrence of one run."""

    def __init__(self, floor: Floor, run_id: str) -> None:
        self._floor = floor
        self._run_id = run_id
        self._inside: str | None = None

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:
        """Run `work` once in the life of the run; TransientError makes it run again.

        What is recorded is always a value, never an exception: a replay raises the same error
        without having to rebuild it. Raises StepGivenUp or StepBroken.
        """
        return await self._recorded(name, lambda: self._tried(name, work))

    async def wait(
        self, name: str, over: Callable[[], Awaitable[bool]], *, until: float | None = None
    ) -> None:
        """Hold no place until `over` says yes; a shutdown ends the waiting without a record."""

        async def waited() -> Json:
            try:
                await self._until(over, until)
            except Exception as error:  # the same boundary as for work
                log.exception("waiting broke", step=name)
                return {"broken": type(error).__name__}
            return {"value": None}

        await self._recorded(name, waited)

    async def _recorded(self, name: str, recorded: Callable[[], Awaitable[Json]]) -> Json:
        if self._inside is not None:  # steps are numbered as they begin: a replay would mix them up
            raise RuntimeError(f"{name} began inside {self._inside}: steps follow one another")
        await self._floor.gate.wait()
        self._inside = name
        try:
            record: Any = await self._floor.record(name, recorded)
        finally:
            self._inside = None
            self._floor.working.discard(self)
        if "given_up" in record:
            raise StepGivenUp(record["given_up"])
        if "broken" in record:
            raise StepBroken(record["broken"])
        return record["value"]

    async def boundary(self) -> None:
        """Let the stage pass, unless the engine is draining: then it waits here for the end."""
        if not self._floor.gate.is_set():
            self._floor.working.discard(self)
        await self._floor.gate.wait()

    async def _until(self, over: Callable[[], Awaitable[bool]], at: float | None) -> None:
        """Ask at the start, when woken, and now and then; one that cannot be asked is not over."""
        woken = asyncio.Event()
        self._floor.waiting[self._run_id] = woken
        try:
            while True:
                woken.clear()
                try:
                    if await over():
                        return
                except TransientError as error:
                    log.warning("run goes on waiting", run=self._run_id, reason=str(error))
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._next_look(at)):
                        await woken.wait()
        finally:
            del self._floor.waiting[self._run_id]

    def _next_look(self, at: float | None) -> float:
        """Return after how many seconds to ask again, if nobody wakes the run before."""
        look = self._floor.look_seconds
        left = look if at is None else at - time.time()
        return min(look, left) if left > 0 else look

    async def _tried(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:
        for attempt in range(1, STEP_ATTEMPTS):
            try:
                return await self._attempt(name, work)
            except TransientError as error:
                pause = self._floor.retry_seconds * 2 ** (attempt - 1)
                pause = max(pause, min(error.retry_after or 0, LONGEST_WAIT))
                log.warning("step interrupted", step=name, reason=str(error), seconds=pause)
            self._floor.working.discard(self)  # a shutdown need not wait for the waiting
            await asyncio.sleep(pause)
        try:
            return await self._attempt(name, work)
        except TransientError as error:
            log.warning("step given up", step=name, reason=str(error))
            return {"given_up": str(error)}

    async def _attempt(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:
        """Work inside one of the machine's places; only stages need one, the rest is short."""
        floor = self._floor
        async with floor.places if name.startswith("stage/") else nullcontext():
            await floor.gate.wait()  # the place may come free because of a shutdown
            floor.working.add(self)
            try:
                return {"value": await work()}
            except TransientError:
                raise
            except Exception as error:  # the one boundary where our own mistakes end a step
                log.exception("step broke", step=name)
                return {"broken": type(error).__name__}
