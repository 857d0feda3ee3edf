"""The steering of one run, over the store: what people say to it, and when they cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import structlog

from agents.errors import TransientError
from agents.ports import Steer
from app.store.runs import StoredSteers

LOOK_SECONDS = 300.0
"""After which one who waits looks by itself, in case nobody rang."""
RETRY_SECONDS = 1.0

log = structlog.get_logger()


class SteerSignals:
    """Who in this process waits for a steer of which run; `WakeupPoller` rings for all of them."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}

    def ring(self, run_id: str) -> None:
        """Have those look who wait for a steer of this run."""
        for bell in self._waiting.get(run_id, ()):
            bell.set()

    @contextmanager
    def subscribe(self, run_id: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set when there is a steer for the run."""
        bell = asyncio.Event()
        self._waiting.setdefault(run_id, set()).add(bell)
        try:
            yield bell
        finally:
            self._waiting[run_id].discard(bell)
            if not self._waiting[run_id]:
                del self._waiting[run_id]


class RunSteering:
    """The port `Steering` of one run. Nobody polls: a bell tells when there may be something."""

    def __init__(
        self,
        stored: StoredSteers,
        signals: SteerSignals,
        run_id: str,
        *,
        look_seconds: float = LOOK_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._stored = stored
        self._signals = signals
        self._run_id = run_id
        self._look_seconds = look_seconds
        self._retry_seconds = retry_seconds

    async def list_after(self, number: int = 0) -> Sequence[Steer]:
        """Return what came after the steer of this number, oldest first."""
        return await self._stored.list_after(self._run_id, number)

    async def wait_for_cancel(self) -> Steer:
        """Wait until somebody cancels the run, and return who; at once if somebody has."""
        with self._signals.subscribe(self._run_id) as bell:
            while True:
                bell.clear()
                try:
                    if (cancel := await self._stored.cancel_of(self._run_id)) is not None:
                        return cancel
                    pause = self._look_seconds
                except TransientError as error:  # the run goes on; so does the waiting
                    log.warning("cannot see whether it is cancelled", reason=str(error))
                    pause = self._retry_seconds
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await bell.wait()
