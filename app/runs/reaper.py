"""What a server looks after beside its work: runs that were lost, rows that nobody needs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Protocol

import structlog

from app.runs.conductor import FindEnded

LOOK_SECONDS = 30.0
FORGET_SECONDS = 86_400.0
KEPT = timedelta(days=30)
"""How long the engine remembers a run after its end; the tables of Fettle keep their own."""

log = structlog.get_logger()


def kept_of(retention_days: int) -> timedelta:
    """Return how long the engine remembers, where texts are kept for so many days; 0: for good."""
    return min(KEPT, timedelta(days=retention_days)) if retention_days else KEPT


class Runs(Protocol):
    """Ends what was lost."""

    async def end_lost(self, find_ended: FindEnded) -> None:
        """End the runs that the engine gave up."""
        ...


class Memory(Protocol):
    """Remembers runs after their end."""

    async def find_ended(self, run_ids: Collection[str]) -> Mapping[str, str]:
        """Return those of the runs that will never be conducted again, each with its end."""
        ...

    async def forget(self, age: timedelta) -> int:
        """Delete what is older; return how many runs that were."""
        ...


class Reaper:
    """Ends lost runs at start, then every half minute; forgets at start, then every day."""

    def __init__(
        self,
        runs: Runs,
        memory: Memory,
        *,
        look_seconds: float = LOOK_SECONDS,
        kept: timedelta = KEPT,
    ) -> None:
        self._runs = runs
        self._memory = memory
        self._look_seconds = look_seconds
        self._kept = kept
        self._forget_at = 0.0

    async def run(self) -> None:
        """Go on until cancelled: a fault in here must not end anything else."""
        while True:
            try:
                await self._runs.end_lost(self._memory.find_ended)
                await self._forget()
            except Exception:
                log.exception("upkeep failed, will be tried again")
            await asyncio.sleep(self._look_seconds)

    async def _forget(self) -> None:
        if time.monotonic() < self._forget_at:
            return
        forgotten = await self._memory.forget(self._kept)
        self._forget_at = time.monotonic() + FORGET_SECONDS
        if forgotten:
            log.info("old runs forgotten by the engine", number=forgotten)
