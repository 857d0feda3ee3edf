"""Merged version overrides, and the day on which each has to be looked at again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from pydantic import ValidationError
from sqlalchemy import select, update

from agents.requests import Overruled, Repository
from app.store.alerts.poll_times import PERMISSION, repository_of
from app.store.database import Database
from app.store.tables import installations, remediations, repositories

MERGED = ("merged", "fixed")


class Override(NamedTuple):
    """A merged override whose date has come."""

    run_id: str
    """The run that made it."""
    lane: str
    installation_id: int
    repository: Repository
    readable: bool
    """The owners have granted that alerts are read."""
    overruled: Overruled | None
    """The override itself; None where its record is damaged."""
    alerts: tuple[int, ...]
    """The numbers of the alerts that the override was made for."""
    until: float


class Overrides:
    """The overrides in the table `remediations`, each with its repository."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, now: float, most: int) -> list[Override]:
        """Return the merged overrides whose date has come, the longest waiting first.

        Repositories where Fettle can do nothing now are left out until that changes.
        """
        until = remediations.c.override_until
        mine = (remediations.c.run_id, remediations.c.lane, remediations.c.overruled)
        query = (
            select(*mine, remediations.c.found, until, repositories, installations.c.permissions)
            .join(repositories, repositories.c.id == remediations.c.repository_id)
            .join(installations, installations.c.id == repositories.c.installation_id)
            .where(
                until <= now,
                remediations.c.state.in_(MERGED),
                repositories.c.removed_at.is_(None),
                ~repositories.c.archived,
                installations.c.removed_at.is_(None),
                installations.c.suspended_at.is_(None),
            )
            .order_by(until, remediations.c.run_id)
            .limit(most)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [
            Override(
                row.run_id,
                row.lane,
                row.installation_id,
                repository_of(row.id, row.full_name, row.default_branch, private=row.private),
                PERMISSION in json.loads(row.permissions),
                _parse_override(row.overruled),
                tuple(sorted(int(alert) for alert in json.loads(row.found))),
                row.override_until,
            )
            for row in rows
        ]

    async def move(self, run_id: str, *, seen: float, to: float | None) -> bool:
        """Set the override's next date; False where another process has set it meanwhile."""
        change = update(remediations).where(
            remediations.c.run_id == run_id, remediations.c.override_until == seen
        )
        moved = change.values(override_until=to)
        return bool(await self._database.write(lambda c: c.execute(moved).rowcount))

    async def settle(self, run_id: str, to: float | None) -> None:
        """Record the result of a run about the override: its next date, or None: it is gone."""
        change = update(remediations).where(
            remediations.c.run_id == run_id, remediations.c.override_until.is_not(None)
        )
        await self._database.write(lambda c: c.execute(change.values(override_until=to)))

    async def pulls(self, lane: str) -> Sequence[int]:
        """Return the open pull requests about the package of this lane."""
        rows = remediations.c
        query = select(rows.number).where(rows.lane == lane, rows.state == "open")
        return await self._database.read(lambda c: c.scalars(query).all())


def day_of(day: date) -> float:
    """Return when a day begins, in unix seconds."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _parse_override(text: str | None) -> Overruled | None:
    try:
        return Overruled.model_validate_json(text or "", extra="ignore")
    except ValidationError:
        return None
