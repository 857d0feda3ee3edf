"""The steps of runs: each done once and recorded, with retries, places and waits."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any, Protocol

import structlog

from agents.errors import TransientError
from agents.ports import Json

STEP_ATTEMPTS = 6
RETRY_SECONDS = 2.0  # doubled each time: 62 s of waiting in all
LONGEST_WAIT = 900.0
DISK_FULL = "the disk of the machine that runs Fettle is full, or takes no writes"
LOOK_SECONDS = 300.0
"""After which a waiting run looks by itself, in case nobody woke it."""

log = structlog.get_logger()


class LetGo(asyncio.CancelledError):
    """The run leaves this process: whoever has a place for it takes it up where it stands."""


class PutOff(LetGo):
    """Something that a step needs is away; the run is parked, and tries again by itself.

    The text is the reason.
    """


class StepGivenUp(Exception):
    """A step cannot be done: what it depends on kept failing. The text is the last reason."""


class StepBroken(Exception):
    """A step raised what it must not raise: a mistake of ours. The log has the details."""


class PutOffRun(Protocol):
    """Parks runs whose step cannot be done for now."""

    async def __call__(self, run_id: str, *, again: bool = False) -> float | None:
        """Return for how many seconds the run is parked; None: it is not put off any more.

        `again`: only where it was put off at this step before.
        """
        ...


Record = Callable[[str, Callable[[], Coroutine[Any, Any, Json]]], Awaitable[Json]]
"""Does something once, keeps its JSON under a name, and returns it ever after."""


class StepPool:
    """What the steps of all runs of one process share."""

    def __init__(
        self,
        record: Record,
        *,
        put_off: PutOffRun | None,
        retry_seconds: float,
        look_seconds: float,
    ) -> None:
        self.put_off = put_off
        """None: a run that waits stays in the process, as beside a person at a terminal."""
        self.gate = asyncio.Event()
        """Set while steps may begin."""
        self.record = record
        self.working: set[DurableSteps] = set()
        """Steps that a shutdown has to wait for, until their result is recorded."""
        self.waiting: dict[str, asyncio.Event] = {}
        """The runs that wait for people, by id."""
        self.retry_seconds = retry_seconds
        self.look_seconds = look_seconds

    def pause_after(self, attempt: int, error: TransientError) -> float:
        """Return for how many seconds to wait after this attempt, counted from 1."""
        pause: float = self.retry_seconds * 2 ** (attempt - 1)
        return max(pause, min(error.retry_after or 0, LONGEST_WAIT))

    def next_look(self, until: float | None) -> float:
        """Return after how many seconds a waiting run looks again, if nobody wakes it before.

        `until` is the unix time at which what it waits for is over, if that is known.
        """
        left = self.look_seconds if until is None else until - time.time()
        return min(self.look_seconds, left) if left > 0 else self.look_seconds


class DurableSteps:
    """The port `Steps`: one recorded step for each stage occurrence of one run."""

    def __init__(self, pool: StepPool, run_id: str) -> None:
        self._pool = pool
        self._run_id = run_id
        self._inside: str | None = None

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:
        """Run `work` once in the life of the run; TransientError makes it run again.

        What is recorded is always a value, never an exception: a replay raises the same error
        without having to rebuild it. Raises StepGivenUp or StepBroken.
        """
        pool = self._pool

        async def attempt() -> Json:
            for number in count(1):
                try:
                    await pool.gate.wait()
                    pool.working.add(self)
                    return {"value": await work()}
                except Exception as raised:
                    error = _find_outside(raised)
                    if error is None:  # the boundary where our own mistakes end a step
                        log.exception("step broke", step=name)
                        return {"broken": type(raised).__name__}
                    last = number >= STEP_ATTEMPTS
                    if await self._may_give_up(error, again=not last) and last:
                        log.warning("step given up", step=name, reason=str(error))
                        return {"given_up": str(error)}
                    pause = pool.pause_after(min(number, STEP_ATTEMPTS), error)
                    log.warning("step interrupted", step=name, reason=str(error), seconds=pause)
                pool.working.discard(self)  # a shutdown need not wait for the waiting
                await asyncio.sleep(pause)
            raise AssertionError("unreachable")

        async with self._hold_turn(name):
            record = await pool.record(name, attempt)
        return _value_of(record)

    async def _may_give_up(self, error: TransientError, *, again: bool) -> bool:
        """Tell whether the step has failed for good. Raises PutOff where it is tried again later.

        `again`: that is so only where it was put off before. Each attempt at a model's answer that
        breaks off is paid, and the trouble of a day has hundreds of attempts.
        While not even the database can be reached, it is neither.
        """
        if self._pool.put_off is None:
            return True
        try:
            if await self._pool.put_off(self._run_id, again=again) is None:
                return True
        except TransientError:
            return False
        raise PutOff(str(error)) from error

    async def wait(
        self, name: str, over: Callable[[], Awaitable[bool]], *, until: float | None = None
    ) -> None:
        """Wait until `over` says yes; a shutdown ends the waiting without a record.

        Raises LetGo where a run that waits leaves the process.
        """

        async def wait_for_end() -> Json:
            try:
                await self._wait_until(over, until)
            except Exception as error:  # the same boundary as for work
                log.exception("waiting broke", step=name)
                return {"broken": type(error).__name__}
            return {"value": None}

        async with self._hold_turn(name):
            record = await self._pool.record(name, wait_for_end)
        _value_of(record)

    async def boundary(self) -> None:
        """Let the stage pass, unless the engine is draining: then it waits here for the end."""
        if not self._pool.gate.is_set():
            self._pool.working.discard(self)
        await self._pool.gate.wait()

    @asynccontextmanager
    async def _hold_turn(self, name: str) -> AsyncIterator[None]:
        """Let one step of a run follow the other: a replay knows them by their order."""
        if self._inside is not None:
            raise RuntimeError(f"{name} began inside {self._inside}: steps follow one another")
        await self._pool.gate.wait()
        self._inside = name
        try:
            yield
        finally:
            self._inside = None
            self._pool.working.discard(self)

    async def _wait_until(self, over: Callable[[], Awaitable[bool]], at: float | None) -> None:
        """Ask at the start, when woken, and now and then; one that cannot be asked is not over."""
        woken = asyncio.Event()
        self._pool.waiting[self._run_id] = woken
        try:
            while True:
                woken.clear()
                try:
                    if await over():
                        return
                    if self._pool.put_off is not None:
                        raise LetGo
                except TransientError as error:
                    log.warning("run goes on waiting", run=self._run_id, reason=str(error))
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pool.next_look(at)):
                        await woken.wait()
        finally:
            del self._pool.waiting[self._run_id]


def _find_outside(error: Exception) -> TransientError | None:
    """Return what something outside did not do, which may be well later; None: it is our mistake.

    A full disk can come up in any write.
    """
    if isinstance(error, TransientError):
        return error
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return TransientError(DISK_FULL)
    return None


def _value_of(record: Any) -> Json:
    """Return what a step returned. Raises StepGivenUp or StepBroken."""
    if "given_up" in record:
        raise StepGivenUp(record["given_up"])
    if "broken" in record:
        raise StepBroken(record["broken"])
    value: Json = record["value"]
    return value
