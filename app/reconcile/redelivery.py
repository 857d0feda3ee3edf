"""Have GitHub redeliver webhook deliveries that failed.

GitHub tries once. Deliveries fail while this server is down, refuses or is too slow. GitHub keeps
them for days and redelivers them on request under the same id, so that none is handled twice.
Deliveries that succeeded are on disk in the inbox, because the server answers only after that.
https://docs.github.com/webhooks/using-webhooks/handling-failed-webhook-deliveries
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import structlog

from agents.errors import RunError
from app.github.transport import GitHub
from app.github.transport.app_deliveries import WINDOW, AppDeliveries, DeliveryPage
from app.reconcile.after_restore import RestoreRecovery
from app.records.deliveries import Attempt
from app.store.database import Database
from app.store.restore_recovery import Recoveries
from app.store.schedule_leases import LogPosition, Missed, PassLock, Sweeps
from handlers import is_handled

NAME = "deliveries"
OVERLAP = 120.0
"""Seconds before the mark that are read once more: an attempt is listed when it is over."""
PAGES = 100
"""Pages of a hundred attempts each in one pass; the next pass continues from there."""
MOST = 250
"""Deliveries that one pass asks for, oldest first."""
LONGEST_PAUSE = 1800.0
KEPT = WINDOW + 86_400.0

log = structlog.get_logger()


class FailedDeliveries:
    """Reads what is new in GitHub's log, then asks for redeliveries."""

    def __init__(
        self,
        log_of_github: AppDeliveries,
        sweeps: Sweeps,
        *,
        every: float,
        spacing: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        recovering: RestoreRecovery | None = None,
    ) -> None:
        self._recovering = recovering
        """Finds what was lost with a database that was put back from a backup."""
        self._log = log_of_github
        self._sweeps = sweeps
        self._every = every
        self._spacing = spacing
        self._clock = clock
        """GitHub's time, in unix seconds."""
        self._sleep = sleep
        self._turn = PassLock(sweeps, NAME)

    @classmethod
    def for_server(
        cls, github: GitHub, database: Database, sweeps: Sweeps, *, every: float, spacing: float
    ) -> FailedDeliveries:
        """Return the pass of a server, without any request to GitHub."""
        log_of_github, clock = AppDeliveries(github.app), github.app.jwt.get_time
        return cls(
            log_of_github,
            sweeps,
            every=every,
            spacing=spacing,
            clock=clock,
            recovering=RestoreRecovery(log_of_github, Recoveries(database), clock=clock),
        )

    async def run(self) -> None:
        """Make one pass, unless one is under way in this process or another."""
        await self._turn.take(self._pass)

    async def _pass(self) -> None:
        if self._recovering is not None:
            await self._recovering.read()
        await self._read()
        now = self._clock()
        asked = 0
        for each in await self._sweeps.due(now=time.time(), since=now - WINDOW, most=MOST):
            if asked:
                await self._sleep(self._spacing)
            await self._ask(each)
            asked += 1
        await self._sweeps.forget(before=now - KEPT)
        if self._recovering is not None:
            await self._recovering.end()
        if asked:
            log.info("deliveries asked for again", number=asked)

    async def _read(self) -> None:
        """Read what is new; first what an earlier pass had no time for."""
        reading = await self._sweeps.read_progress(NAME)
        resumed = bool(reading.cursor)
        for _ in range(PAGES):
            if not reading.cursor:
                reading = replace(reading, top=self._clock() - OVERLAP)
            page = await self._page(reading.cursor)
            reading = self._advance(reading, page)
            await self._sweeps.note(NAME, reading, _select_known(page.attempts))
            if not reading.cursor:
                if not resumed:
                    return
                resumed = False

    async def _page(self, cursor: str) -> DeliveryPage:
        try:
            return await self._log.page(cursor)
        except RunError:
            if not cursor:
                raise
        return await self._log.page()  # the cursor is too old: once more from the newest on

    def _advance(self, reading: LogPosition, page: DeliveryPage) -> LogPosition:
        """Return how far is read with this page."""
        floor = max(reading.mark, self._clock() - WINDOW)
        oldest = min((each.at for each in page.attempts), default=floor)
        if page.cursor and oldest >= floor:
            return replace(reading, cursor=page.cursor)
        return LogPosition(mark=reading.top)

    async def _ask(self, each: Missed) -> None:
        """Ask for one; each time that it fails it is left alone for longer."""
        pause = min(self._every * 2.0**each.asks, LONGEST_PAUSE)
        await self._sweeps.record_redelivery(each, next_at=time.time() + pause * 0.9)
        try:
            if each.nameless and self._recovering is not None:
                await self._recovering.record_run_id(each)
            await self._log.redeliver(each.delivery_id)
        except RunError as error:
            log.warning("GitHub does not deliver again", delivery=each.guid, reason=str(error))
            await self._sweeps.record_gone(each.guid)


def _select_known(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return those of which something could come."""
    return [each for each in attempts if is_handled(each.event, each.action)]
