"""Measure how late the event loop is: work that holds it lets nobody else be answered."""

from __future__ import annotations

import asyncio
import time
from collections import deque

EVERY = 0.25
"""Seconds between two looks."""
KEPT = 300.0
"""Seconds for which a look counts: more than the time between two scrapes."""


class LoopLag:
    """How much later than planned a task was called, as seen lately."""

    def __init__(self, *, every: float = EVERY, kept: float = KEPT) -> None:
        self._every = every
        self._kept = kept
        self._late: deque[tuple[float, float]] = deque()
        """When, and how late; only those that no later one exceeds, so the first is the longest."""

    @property
    def longest(self) -> float:
        """Return the longest of the last minutes, in seconds."""
        self._forget(time.monotonic())
        return self._late[0][1] if self._late else 0.0

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            planned = time.monotonic() + self._every
            await asyncio.sleep(self._every)
            self._note(time.monotonic(), planned)

    def _note(self, now: float, planned: float) -> None:
        late = max(0.0, now - planned)
        while self._late and self._late[-1][1] <= late:
            self._late.pop()
        self._late.append((now, late))
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._late and self._late[0][0] < now - self._kept:
            self._late.popleft()
