"""Find labelled issues whose delivery never arrived, and put the request into the inbox.

GitHub drops a delivery after three days, and does not send every one. So this pass looks for open
issues that carry the label and had no run since then. Each goes into the inbox as the missing
delivery: with the same text and the same asker, and judged like any other.
"""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_right
from collections.abc import Callable

import orjson
import structlog
from cachetools import LRUCache

from agents.errors import RunError
from app.github.issues.find_labelled import Candidate, InstallationSince, LabelEvent, LabelledIssues
from app.reconcile.redelivery import NAME as DELIVERIES
from app.store.restore_recovery import NAME as RECOVERY
from app.store.schedule_leases import PassLock, Sweeps
from app.webhooks import Delivery, Inbox
from handlers.issues import RESOLVE_LABEL

NAME = "labels"
EVENT, ACTION = "issues", "labeled"
GRACE = 900.0
"""Seconds for which the delivery itself may still come."""
LOOK_BACK = 7 * 86_400.0
"""Seconds: who has put the label on before that no longer waits for anything to happen."""
SLACK = 60.0
"""Seconds by which clocks may differ."""
MOST_INSTALLATIONS = 200
"""In one pass; the next one goes on with the others."""
MOST_CANDIDATES = 20
"""Issues that one pass looks at closely."""
MOST_KNOWN = 20_000

log = structlog.get_logger()


class MissedLabels:
    """Searches each installation once in a pass, and looks closely at new finds."""

    def __init__(
        self,
        issues: LabelledIssues,
        sweeps: Sweeps,
        inbox: Inbox,
        *,
        clock: Callable[[], float],
        grace: float = GRACE,
    ) -> None:
        self._issues = issues
        self._sweeps = sweeps
        self._inbox = inbox
        self._clock = clock
        """GitHub's time, in unix seconds."""
        self._grace = grace
        self._turn = PassLock(sweeps, NAME)
        self._done: LRUCache[tuple[object, ...], bool] = LRUCache(MOST_KNOWN)
        self._last = 0
        self._looks = 0

    async def run(self) -> None:
        """Make one pass, unless one is under way in this process or another."""
        await self._turn.take(self._pass)

    async def _pass(self) -> None:
        self._looks = 0
        every = sorted([each async for each in self._issues.installations()], key=lambda i: i.id)
        after = bisect_right([each.id for each in every], self._last)
        for installation in [*every[after:], *every[:after]][:MOST_INSTALLATIONS]:
            self._last = installation.id  # if it fails, the others have their turn first
            await self._search(installation)

    async def _search(self, installation: InstallationSince) -> None:
        since = max(self._clock() - LOOK_BACK, installation.since)
        for each in await self._issues.open_with(RESOLVE_LABEL, installation, since):
            if self._looks >= MOST_CANDIDATES:
                return
            if each.version in self._done or await self._is_too_early(each):
                continue
            self._looks += 1
            try:
                done = await self._look(each, since)
            except RunError as error:
                log.warning("issue not looked at", issue=each.reference, reason=str(error))
                done = True
            if done:
                self._done[each.version] = True

    async def _is_too_early(self, candidate: Candidate) -> bool:
        """Tell without asking GitHub whether it is too early for a close look."""
        age = self._clock() - candidate.created_at
        return age < self._grace or await self._sweeps.busy(candidate.full_name, candidate.number)

    async def _look(self, candidate: Candidate, since: float) -> bool:
        """Put it into the inbox if it is missing there; False when that cannot be told yet."""
        found = await self._issues.find_label_event(candidate, RESOLVE_LABEL)
        if found is None or found.at < since:
            return True
        if not await self._is_overdue(found):
            return False
        run = await self._sweeps.run_since(found.repository_id, candidate.number, found.at - SLACK)
        if run is None:
            await self._inbox.store(_delivery(found))
            log.info("label without a run found", issue=candidate.reference)
        return True

    async def _is_overdue(self, found: LabelEvent) -> bool:
        """Tell whether the delivery will not come by itself any more: then there would be two."""
        if (await self._sweeps.read_progress(RECOVERY)).mark:  # it may be among what was lost
            return False
        reading = await self._sweeps.read_progress(DELIVERIES)
        if self._clock() - found.at < self._grace or reading.mark < found.at + SLACK:
            return False
        if await self._sweeps.open_of(found.repository_id, EVENT, ACTION):
            return False
        waits = await self._sweeps.oldest_waiting()
        return waits is None or waits > time.time() - SLACK


def _delivery(found: LabelEvent) -> Delivery:
    """Return the delivery; its id is the same for one event, and no delivery of GitHub has it."""
    digest = hashlib.sha256(f"{found.repository_id} {found.event_id}".encode()).hexdigest()
    body = orjson.dumps(found.payload)
    installation = found.payload["installation"]["id"]
    return Delivery(f"fettle.label-{digest[:32]}", EVENT, ACTION, installation, digest, body)
