"""The record of earlier runs about alerts, for the run that looks who is at a package already."""

from __future__ import annotations

from collections.abc import Collection

from app.github.pulls.competing import EarlierRun
from app.store.alerts import Remediations
from app.store.database import Database
from app.store.runs import Runs

NEWEST = 200
"""Outcomes of one repository that are looked at."""


class StoredEarlierRuns:
    """Reads the tables of runs and of what became of them."""

    def __init__(self, database: Database) -> None:
        self._runs = Runs(database)
        self._remediations = Remediations(database)

    async def find(self, run_id: str) -> EarlierRun | None:
        """Return the run's lane, and the open alerts that its pull request is for.

        None where the run is gone, or its request cannot be read any more.
        """
        lane = await self._runs.lane_of(run_id)
        if lane is None:
            return None
        made = await self._remediations.find(run_id)
        alerts = made.open_alerts if made is not None and made.retires is None else ()
        return EarlierRun(lane, alerts)

    async def list_declined(self, repository_id: int) -> Collection[int]:
        """Return the alerts for which people have declined the newest pull request."""
        newest: dict[int, bool] = {}
        for each in await self._remediations.list_newest(NEWEST, repository_id):
            for alert in each.found if each.number else ():
                newest.setdefault(alert, each.declined)
        return [alert for alert, declined in newest.items() if declined]

    async def replace(self, repository_id: int, number: int) -> None:
        """Note that another pull request takes the place of this one, which nobody declined."""
        await self._remediations.replace(repository_id, number)
