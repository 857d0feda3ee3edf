"""After a restore, have GitHub redeliver what the lost server had already acknowledged.

A backup is older than the crash. GitHub counts deliveries from between the two as delivered, so the
pass over failed deliveries skips them; but for three days GitHub redelivers them on request. The
answer in GitHub's log names the run that each one became. The new run takes the same id, finds the
comments and branches of the lost one, and repeats none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from agents.errors import RunError
from app.github.transport.app_deliveries import WINDOW, AppDeliveries, DeliveryPage
from app.records.deliveries import Attempt
from app.store.restore_recovery import Recoveries, Recovery
from app.store.schedule_leases import Missed
from app.webhooks import ACCEPTED
from handlers import is_handled

TAKEN = 202
_CALLED = re.compile(
    f"^{re.escape(ACCEPTED).replace(re.escape('{run}'), '([0-9a-f]{16}-.{1,83})')}$"
)
OVERLAP = 300.0
"""Seconds by which clocks may differ, GitHub's and that of the machine of the backup."""
PAGES = 100
GONE = (
    "What GitHub delivered from {start} to {end} UTC cannot be had again: GitHub keeps it for three"
    " days."
)

log = structlog.get_logger()


class RestoreRecovery:
    """Finds lost deliveries in GitHub's log, after a restore."""

    def __init__(
        self, log_of_github: AppDeliveries, recoveries: Recoveries, *, clock: Callable[[], float]
    ) -> None:
        self._log = log_of_github
        self._recoveries = recoveries
        self._clock = clock
        """GitHub's time, in unix seconds."""

    async def read(self) -> None:
        """Read the log from the newest attempt back to the backup; may be interrupted."""
        recovery = await self._recoveries.find_pending()
        for _ in range(PAGES):
            if recovery is None or not recovery.since:
                return
            page = await self._page(recovery)
            recovery = self._advance(recovery, page)
            await self._recoveries.note(recovery, [a for a in page.attempts if self._is_taken(a)])

    async def record_run_id(self, each: Missed) -> None:
        """Look up the run id that the lost server gave a delivery; old answers have none."""
        said = _CALLED.match((await self._log.answer(each.delivery_id)).strip())
        if said and said[1].partition("-")[2] == each.guid:
            await self._recoveries.record_run_id(each.guid, said[1])

    async def end(self) -> None:
        """End the recovery once everything that GitHub still has is here."""
        recovery = await self._recoveries.find_pending()
        if recovery is None or recovery.since:
            return
        if not await self._recoveries.count_missing(self._clock() - WINDOW):
            await self._recoveries.finish()
            log.info("what was lost with the database has been asked for, and has arrived")

    async def _page(self, recovery: Recovery) -> DeliveryPage:
        if not recovery.cursor:
            gone = gone_by(recovery.since, self._clock())
            if gone:
                log.warning("deliveries are lost", reason=gone)
            return await self._log.page()
        try:
            return await self._log.page(recovery.cursor)
        except RunError:
            return await self._log.page()  # too old: once more from the newest on

    def _advance(self, recovery: Recovery, page: DeliveryPage) -> Recovery:
        floor = max(recovery.since - OVERLAP, self._clock() - WINDOW)
        oldest = min((each.at for each in page.attempts), default=floor)
        if page.cursor and oldest >= floor:
            return replace(recovery, cursor=page.cursor)
        return replace(recovery, since=0.0, cursor="")

    def _is_taken(self, attempt: Attempt) -> bool:
        """Tell whether it was taken; what is in the inbox all the same is sorted out there."""
        return attempt.status == TAKEN and is_handled(attempt.event, attempt.action)


def gone_by(since: float, now: float) -> str:
    """Return the span (unix seconds) that GitHub redelivers no more; empty where it has all."""
    if since >= now - WINDOW:
        return ""
    start, end = (
        f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}" for at in (since, now - WINDOW)
    )
    return GONE.format(start=start, end=end)
