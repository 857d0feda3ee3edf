"""Wake waiting runs whose people have decided or spoken, in whichever process they did."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import structlog

from agents.errors import TransientError

LOOK_SECONDS = 1.0
IDLE_LOOK_SECONDS = 15.0
"""For as long as no run is here that could be woken. A look reaches back behind the last one, so a
run that comes meanwhile misses nothing."""
OVERLAP_SECONDS = 120.0
"""How far each look reaches back behind the one before: a row is dated before it is committed, and
by the clock of the machine that it was made on."""

Since = Callable[[float], Awaitable[list[tuple[str, str]]]]
"""Returns id and run of what happened from a moment on, in unix seconds."""

log = structlog.get_logger()


class Decisions(Protocol):
    """The stored approvals, as the poller needs them."""

    async def expire(self) -> int:
        """Decide those whose time is up; return how many."""
        ...

    async def decided_since(self, moment: float) -> list[tuple[str, str]]:
        """Return id and run of those decided from that moment on, in unix seconds."""
        ...


class Steers(Protocol):
    """The stored steers, as the poller needs them."""

    async def steered_since(self, moment: float) -> list[tuple[str, str]]:
        """Return id and run of what was said from that moment on, in unix seconds."""
        ...


class WakeupPoller:
    """Asks once a second for all runs of this process: one that waits never asks by itself.

    While `needed` says that there are none, it asks more rarely.
    """

    def __init__(
        self,
        decisions: Decisions,
        wake: Callable[[str], None],
        *,
        steers: Steers | None = None,
        ring: Callable[[str], None] = lambda _run_id: None,
        needed: Callable[[], bool] = lambda: True,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._needed = needed
        self._looked_at = -math.inf
        self._decisions = decisions
        self._wake = wake
        self._ring = ring
        self._look_seconds = look_seconds
        self._decided = _ChangeCursor(decisions.decided_since)
        self._steered = _ChangeCursor(steers.steered_since) if steers is not None else None

    async def run(self) -> None:
        """Go on until cancelled: a fault in here must not end anything else."""
        while True:
            try:
                if self._needed() or time.monotonic() - self._looked_at >= IDLE_LOOK_SECONDS:
                    self._looked_at = time.monotonic()
                    await self.look_once()
            except TransientError as error:
                log.warning("cannot see what was decided", reason=str(error))
            except Exception:
                log.exception("cannot see what was decided, will be tried again")
            await asyncio.sleep(self._look_seconds)

    async def look_once(self) -> None:
        """Wake the runs of what is new since the last look; let go what nobody answered."""
        if self._steered is not None:
            for run_id in await self._steered.new():
                self._ring(run_id)
                self._wake(run_id)
        await self._decisions.expire()
        for run_id in await self._decided.new():
            self._wake(run_id)


class _ChangeCursor:
    """Reads what is new since the last read, each thing once.

    A read reaches back behind the last one that worked: while the database is away or the machine
    sleeps, others may go on.
    """

    def __init__(self, since: Since) -> None:
        self._since = since
        self._looked_at = time.time()
        self._seen: frozenset[str] = frozenset()

    async def new(self) -> list[str]:
        """Return the runs of what came since the last read."""
        now = time.time()
        found = await self._since(min(self._looked_at, now) - OVERLAP_SECONDS)
        new = [run_id for ident, run_id in found if ident not in self._seen]
        self._looked_at, self._seen = now, frozenset(ident for ident, _ in found)
        return new
