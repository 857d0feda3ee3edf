"""When the Dependabot alerts of each repository were last listed, and when they are due again."""

from __future__ import annotations

import json
import time
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite

from agents.requests import Repository
from app.store.database import Database
from app.store.tables import alert_looks, installations, repositories

PERMISSION = "vulnerability_alerts"


class Due(NamedTuple):
    """A repository whose open alerts are to be looked at."""

    installation_id: int
    repository: Repository
    readable: bool
    """The owners have granted that alerts are read."""
    looked_at: float
    """When its alerts were last listed, in unix seconds; 0: never."""


class AlertLooks:
    """The table `alert_looks`: one row for each repository whose alerts are polled."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, most: int) -> list[Due]:
        """Return the repositories whose turn it is, the longest waiting first; at most `most`."""
        waits = func.coalesce(alert_looks.c.next_at, 0.0)
        columns = (repositories, installations.c.permissions, alert_looks.c.at.label("looked_at"))
        query = (
            select(*columns)
            .join(installations, installations.c.id == repositories.c.installation_id)
            .join(
                alert_looks,
                alert_looks.c.repository_id == repositories.c.id,
                isouter=True,
            )
            .where(
                repositories.c.removed_at.is_(None),
                ~repositories.c.archived,
                installations.c.removed_at.is_(None),
                installations.c.suspended_at.is_(None),
                waits <= time.time(),
            )
            .order_by(waits, repositories.c.id)
            .limit(most)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [
            Due(
                row.installation_id,
                repository_of(row.id, row.full_name, row.default_branch, private=row.private),
                PERMISSION in json.loads(row.permissions),
                row.looked_at or 0.0,
            )
            for row in rows
        ]

    async def record_look(self, repository_id: int, *, next_at: float, whole: bool = True) -> None:
        """Note that a repository's alerts were listed; `whole`: all of them, and not only a part.

        `next_at` is when they are due again, in unix seconds.
        """
        dialect = sqlite if self._database.engine.dialect.name == "sqlite" else postgresql
        row = {"repository_id": repository_id, "at": time.time() if whole else 0.0}
        insert = dialect.insert(alert_looks).values(next_at=next_at, **row)
        change = {"next_at": next_at, **({"at": row["at"]} if whole else {})}
        once = insert.on_conflict_do_update(index_elements=["repository_id"], set_=change)
        await self._database.write(lambda c: c.execute(once))


def repository_of(ident: int, full_name: str, default_branch: str, *, private: bool) -> Repository:
    """Return a repository under its present name."""
    owner, _, name = full_name.partition("/")
    return Repository(
        id=ident, owner=owner, name=name, default_branch=default_branch, private=private
    )
