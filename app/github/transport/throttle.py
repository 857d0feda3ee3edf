"""Throttle calls to one installation: few at once, and a pause between two writes."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from math import inf

from agents.errors import TransientError
from app.github.transport.rate_limits import LONGEST_WAIT, RemainingRequests

AT_ONCE = 10
"""GitHub bears 100 at once for all that an App does; others share them."""

HOUR = 3600.0
HOURLY = 480
"""Writes in an hour: GitHub takes 500 that create content, and refuses an App that goes on.

https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""
KEPT_FOR_PEOPLE = 160
"""Writes of the hour that progress updates leave to answers for people."""

PATIENCE = 20.0
"""Seconds that a caller waits here; for longer pauses the caller should leave and come back."""


class PriorityLock:
    """A lock that serves answers to people before progress updates, and equals in order."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: list[tuple[bool, int, asyncio.Future[None]]] = []
        self._numbers = count()

    async def take(self, *, yielding: bool) -> None:
        """Wait for the lock; callers that are not `yielding` go first."""
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
        """Tell whether a caller waits that is not `yielding`."""
        return any(not yielding and not future.done() for yielding, _, future in self._waiting)

    def leave(self) -> None:
        """Release the lock to the next caller that still waits."""
        while self._waiting:
            future = heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)
                return
        self._taken = False


class Throttle:
    """The throttle of one installation."""

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
        self._trying = asyncio.Lock()
        self._turns = PriorityLock()
        self._written: deque[float] = deque()
        self._next_write = clock()
        self._held_until = clock()
        self._struck_at = -inf
        self.left: RemainingRequests | None = None
        """The requests left in the hour, by GitHub's newest answer."""

    def strikes_at(self, asked_at: float) -> int:
        """Return how many limits in a row were met before the one that answers this call.

        Concurrent calls meet one limit, however many of them GitHub refuses.
        """
        return max(0, self.strikes - 1) if asked_at <= self._struck_at else self.strikes

    def hold(self, seconds: float, asked_at: float = inf) -> None:
        """Block all calls for `seconds`, as GitHub asked in answer to a call of that time."""
        self.strikes = self.strikes_at(asked_at) + 1
        self._struck_at = self._clock()
        self._held_until = max(self._held_until, self._struck_at + seconds)

    def record_success(self, asked_at: float) -> None:
        """Note that GitHub answered a call of that time normally.

        A call that was under way before the last refusal proves nothing, and is ignored.
        """
        if asked_at > self._struck_at:
            self.strikes = 0

    def hear(self, left: RemainingRequests | None, now: float) -> None:
        """Note how many requests are left; with none left, wait until GitHub's reset.

        `now` is GitHub's time in unix seconds, like the reset in `left`.
        """
        if left is None:
            return
        self.left = left
        if left.remaining <= 0 and left.reset > now:
            away = min(left.reset - now + 1, LONGEST_WAIT)
            self._held_until = max(self._held_until, self._clock() + away)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[float]:
        """Hold a place for one call, from the time yielded; TransientError for a long pause.

        After a rate limit one call goes first; the others follow once GitHub has answered it.
        """
        async with self._places:
            if not self.strikes:
                await self._pause()
                yield self._clock()
                return
            async with self._trying:
                await self._pause()
                yield self._clock()

    @asynccontextmanager
    async def write(self, *, yielding: bool = False) -> AsyncIterator[float]:
        """Hold the only place for writes, spaced from the last one; TransientError as for `read`.

        https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#pause-between-mutative-requests
        """
        await self._spaced_turn(yielding=yielding)
        try:
            async with self.read() as now:
                self._next_write = now + self._spacing
                self._written.append(now)
                yield now
        finally:
            self._turns.leave()

    async def _spaced_turn(self, *, yielding: bool) -> None:
        while True:
            await self._turns.take(yielding=yielding)
            try:
                await self._wait(max(self._next_write - self._clock(), self._room(yielding)))
            except BaseException:
                self._turns.leave()
                raise
            if not (yielding and self._turns.urgent):
                return
            self._turns.leave()  # to somebody whom people wait for, who came meanwhile

    def _room(self, yielding: bool) -> float:
        """Return for how many seconds no write fits into the hour; TransientError for long.

        Who is yielding does not wait for that with the turn in its hand: others may have room.
        """
        now = self._clock()
        while self._written and self._written[0] <= now - HOUR:
            self._written.popleft()
        over = len(self._written) - (HOURLY - KEPT_FOR_PEOPLE * yielding)
        if over < 0:
            return 0
        wait = self._written[over] + HOUR - now
        if yielding or wait > PATIENCE:
            raise TransientError(_FULL.format(wait=wait), retry_after=wait)
        return wait

    async def _pause(self) -> None:
        known = -inf
        while known < self._held_until:  # meanwhile another call may have been told to wait longer
            known = self._held_until
            wait = known - self._clock()
            if wait > PATIENCE:
                raise TransientError(_PAUSE.format(wait=wait), retry_after=wait)
            await self._wait(wait)

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            await self._sleep(seconds)


_PAUSE = "GitHub asked for a pause that lasts another {wait:.0f} s."
_FULL = (
    "GitHub takes no more than 500 writes an hour from one installation, so the next one waits"
    " {wait:.0f} s."
)
