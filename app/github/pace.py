"""How fast one installation is used: few calls at once, writes one by one with a space between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count

from agents.errors import TransientError

AT_ONCE = 10
"""GitHub bears 100 at once for all that an App does; others share them."""

PATIENCE = 20.0
"""Seconds that a caller waits here; for longer pauses it should go and free its place."""


class Turns:
    """A lock that answers to people get before progress updates, and equals in order."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: list[tuple[bool, int, asyncio.Future[None]]] = []
        self._numbers = count()

    async def take(self, *, yielding: bool) -> None:
        """Wait for the turn; those who are not yielding go first."""
        if not self._taken:
            self._taken = True
            return
        future = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (yielding, next(self._numbers), future))
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.leave()  # the turn came in the same moment as the cancellation
            raise

    @property
    def urgent(self) -> bool:
        """Tell whether somebody waits who is not yielding."""
        return any(not yielding and not future.done() for yielding, _, future in self._waiting)

    def leave(self) -> None:
        """Hand the turn to the next one who still waits."""
        while self._waiting:
            future = heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)
                return
        self._taken = False


class Pace:
    """The traffic rules of one installation."""

    def __init__(
        self,
        *,
        spacing: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.strikes = 0
        """Rate limits met in a row."""
        self._spacing = spacing
        self._clock = clock
        self._sleep = sleep
        self._places = asyncio.Semaphore(AT_ONCE)
        self._turns = Turns()
        self._next_write = clock()
        self._held_until = clock()

    def hold(self, seconds: float) -> None:
        """Let nobody call for so long: GitHub asked for it."""
        self.strikes += 1
        self._held_until = max(self._held_until, self._clock() + seconds)

    def calm(self) -> None:
        """Note that GitHub answers as it should."""
        self.strikes = 0

    @asynccontextmanager
    async def read(self) -> AsyncIterator[None]:
        """Hold a place for one call; TransientError when GitHub wants a long pause."""
        async with self._places:
            await self._pause()
            yield

    @asynccontextmanager
    async def write(self, *, yielding: bool = False) -> AsyncIterator[None]:
        """Hold the turn to write, spaced from the last one; TransientError as for `read`."""
        await self._spaced_turn(yielding=yielding)
        try:
            async with self.read():
                self._next_write = self._clock() + self._spacing
                yield
        finally:
            self._turns.leave()

    async def _spaced_turn(self, *, yielding: bool) -> None:
        while True:
            await self._turns.take(yielding=yielding)
            try:
                await self._wait(self._next_write - self._clock())
            except BaseException:
                self._turns.leave()
                raise
            if not (yielding and self._turns.urgent):
                return
            self._turns.leave()  # to somebody whom people wait for, who came meanwhile

    async def _pause(self) -> None:
        wait = self._held_until - self._clock()
        if wait > PATIENCE:
            raise TransientError(
                f"GitHub asked for a pause that lasts another {wait:.0f} s.", retry_after=wait
            )
        await self._wait(wait)

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            await self._sleep(seconds)
