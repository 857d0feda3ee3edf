"""Step 3: wake the runs that people have decided about, wherever the decision was made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

import structlog

from agents.errors import TransientError

LOOK_SECONDS = 1.0
OVERLAP_SECONDS = 120.0
"""How far back each look reaches: a decision is dated before it is committed, and by the clock of
the machine that it was made on."""

log = structlog.get_logger()


class Decisions(Protocol):
    """Knows what was decided."""

    async def expire(self) -> int:
        """Decide those whose time is up; return how many."""
        ...

    async def decided_since(self, moment: float) -> list[tuple[str, str]]:
        """Return id and run of those decided from that moment on, in unix seconds."""
        ...


class Waking:
    """Asks once a second for all runs of this process: one that waits never asks by itself."""

    def __init__(
        self,
        decisions: Decisions,
        wake: Callable[[str], None],
        *,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._decisions = decisions
        self._wake = wake
        self._look_seconds = look_seconds
        self._seen: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Go on until cancelled: a fault in here must not end anything else."""
        while True:
            try:
                await self.once()
            except TransientError as error:
                log.warning("cannot see what was decided", reason=str(error))
            except Exception:
                log.exception("cannot see what was decided, will be tried again")
            await asyncio.sleep(self._look_seconds)

    async def once(self) -> None:
        """Wake the runs of what was decided since the last look; let go what nobody answered."""
        await self._decisions.expire()
        decided = await self._decisions.decided_since(time.time() - OVERLAP_SECONDS)
        for ident, run_id in decided:
            if ident not in self._seen:
                self._wake(run_id)
        self._seen = frozenset(ident for ident, _ in decided)
