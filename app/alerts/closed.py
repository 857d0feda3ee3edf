"""Cancel runs whose alerts, or whose pull request, somebody else has closed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.ports import Alerts, Json
from app.store.alerts import AlertRuns, Remediations
from app.store.database import Database
from app.store.runs import StoredSteers
from handlers.notifications import AlertClosed, PullClosed

AlertsOf = Callable[[str], Awaitable[Alerts | None]]
"""Returns the port `Alerts` for this run; None where the run's record is gone."""

BY = "GitHub"
HOW = {
    "fixed": "they are fixed.",
    "dismissed": "somebody dismissed them.",
    "auto_dismissed": "a rule of the repository dismissed them.",
}


@dataclass(frozen=True)
class ClosedAlerts:
    """Handles notifications of closed alerts."""

    runs: AlertRuns
    remediations: Remediations
    steers: StoredSteers
    alerts_of: AlertsOf

    async def take(self, notice: AlertClosed, ident: str) -> Json:
        """Cancel the folder's run if none of its alerts is left, and settle waiting outcomes.

        Deliveries come late and in any order, so GitHub is asked which alerts are open now.
        """
        fixed = await self.remediations.alerts_closed(notice.repository.id, {notice.alert})
        became: dict[str, Json] = {"fixed": list(fixed)} if fixed else {}
        live = await self.runs.live(notice.about, before=ident, fixes=True)
        if not live:
            return became or {"dropped": "no run is under way"}
        over = False
        while not over:
            told = {run_id: len(await self.runs.list_told_alerts(run_id)) for run_id in live}
            if left := await self._count_open(notice, live[0]):
                return {**became, "goes on": live, "left": left}
            # What is opened again from now on must not be left to a run that ends.
            closed = [await self.runs.close(each, seen=seen) for each, seen in told.items()]
            over = all(closed)
        await self.steers.insert(
            live, f"alert-{ident}", kind="cancel", via="alert", by=BY, words=HOW[notice.state]
        )
        return {**became, "cancelled": live}

    async def _count_open(self, notice: AlertClosed, run_id: str) -> int:
        """Return how many alerts of the package are open in that folder."""
        alerts = await self.alerts_of(run_id)
        if alerts is None:
            return 0
        every = await alerts.open(notice.ecosystem, notice.package)
        return sum(each.directory == notice.directory.strip("/") for each in every)


@dataclass(frozen=True)
class ClosedPulls:
    """Handles notifications of closed pull requests."""

    remediations: Remediations

    async def take(self, notice: PullClosed, _ident: str) -> Json:
        """After a merge, wait for GitHub to close the alerts; else record that people declined."""
        place = (notice.repository.id, notice.number)
        runs = await self.remediations.pull_closed(*place, merged=notice.merged)
        return {"merged" if notice.merged else "declined": list(runs)}


def takers_of(
    database: Database, alerts_of: AlertsOf
) -> Mapping[type[Any], ClosedAlerts | ClosedPulls]:
    """Return the handlers of these kinds of notifications."""
    remediations = Remediations(database)
    return {
        AlertClosed: ClosedAlerts(
            AlertRuns(database), remediations, StoredSteers(database), alerts_of
        ),
        PullClosed: ClosedPulls(remediations),
    }
