"""After a merge, confirm that GitHub closes the alerts, or tell people why it does not.

Webhook deliveries are noted when they come. Runs of which no delivery told are looked up at GitHub
once a day.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from pydantic import ValidationError

from agents.errors import RunError
from agents.ports import Alerts
from agents.requests import RemediateAlert, request_of
from app.github.transport import GitHub, Profile
from app.runs.conductor import Equip
from app.store.alerts import Remediation, Remediations
from app.store.runs import Runs
from app.store.schedule_leases import PassLock, Sweeps

# ruff: noqa: PLC0415 - the ladder takes megabytes, which a server at rest does without

NAME = "merged"
KEY = "still-open"
DAY = 86_400.0
LONGEST = 30 * DAY
"""Seconds after the merge for which GitHub is asked at all."""
EMPTY = "nothing-left"
NOTHING_LEFT = (
    "Every alert that this was for is closed: it was fixed otherwise, or dismissed. Nothing is left"
    " to merge here, so Fettle closes it; the branch stays."
)
PULL = "/repos/{owner}/{repo}/pulls/{number}"

log = structlog.get_logger()


class FixConfirmation:
    """Asks GitHub about the merged pull requests whose turn it is."""

    def __init__(
        self,
        github: GitHub,
        equip: Equip,
        *,
        runs: Runs,
        remediations: Remediations,
        sweeps: Sweeps,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._github = github
        self._equip = equip
        self._runs = runs
        self._remediations = remediations
        self._clock = clock
        self._turn = PassLock(sweeps, NAME)

    async def run(self) -> None:
        """Make one pass, unless one is under way in this process or another."""
        await self._turn.take(self._pass)

    async def _pass(self) -> None:
        now = self._clock()
        for each in await self._remediations.due(before=now - DAY, merged_after=now - LONGEST):
            # First of all, so that one at which it breaks does not stop the others for ever.
            await self._remediations.record_look(each.run_id)
            try:
                if await self._look(each):
                    await self._remediations.record_look(each.run_id, told=True)
            except (RunError, ValidationError) as error:
                log.info("fix not looked at", run=each.run_id, reason=str(error))

    async def _look(self, each: Remediation) -> bool:
        """Return whether people were told why the alerts are still open."""
        stored = await self._runs.request(each.run_id)
        if stored is None:
            return False
        request = request_of(stored)
        assert isinstance(request, RemediateAlert), "only these are remembered"
        if each.state == "open" and (await self._is_closed(each, request) or not each.found):
            return False
        equipment = await self._equip(each.run_id, request)
        try:
            alerts, source = equipment.ports.alerts, equipment.ports.source
            assert alerts is not None, "runs about alerts have them"
            left = await self._refresh_open(each, alerts)
            if each.state == "open":
                if not left and each.retires is None:
                    await self._close_empty(each, request, alerts)
                return False
            if not left or each.told_at is not None:
                return False
            about = await alerts.find_by_numbers(left)
            if about:
                from agents.pipelines.remediate.findings.still_open import why_still_open

                text = await why_still_open(source, request, each.base, about)
                await alerts.say(each.number, KEY, text)
            return bool(about)
        finally:
            await equipment.close()

    async def _close_empty(
        self, each: Remediation, request: RemediateAlert, alerts: Alerts
    ) -> None:
        """Close a pull request that nothing is left of to mend, unless people have pushed to it."""
        about = (request.ecosystem, request.package, request.directory)
        for pull in await alerts.find_open_pulls(*about):
            if pull.number == each.number and pull.own and not pull.pushed_by:
                await alerts.close_pull(each.number, EMPTY, NOTHING_LEFT)

    async def _is_closed(self, each: Remediation, request: RemediateAlert) -> bool:
        """Note what the delivery would have told that its pull request was closed, if it was."""
        place = request.repository
        client = await self._github.installation(request.installation_id, place.id, Profile.READ)
        where = {"owner": place.owner, "repo": place.name, "number": str(each.number)}
        pull = await client.getitem(PULL, where)
        if pull["state"] == "closed":
            merged = bool(pull.get("merged_at"))
            await self._remediations.pull_closed(each.repository_id, each.number, merged=merged)
        return bool(pull["state"] == "closed")

    async def _refresh_open(self, each: Remediation, alerts: Alerts) -> set[int]:
        """Return the alerts that are open, and note that the others are not."""
        states = {alert: await alerts.state(alert) for alert in each.open_alerts}
        closed = {alert for alert, state in states.items() if state != "open"}
        if closed:
            await self._remediations.alerts_closed(each.repository_id, closed)
        return states.keys() - closed
