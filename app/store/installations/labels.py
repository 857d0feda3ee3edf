"""Which repositories still need Fettle's labels, and how many labels were made lately."""

from __future__ import annotations

import time

from sqlalchemy import func, select, update

from app.store.database import Database
from app.store.tables import installations, repositories


class StoredLabels:
    """The columns of `repositories` about labels and policy: work that outlives the process."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_due_installations(self, now: float) -> list[int]:
        """Return the installations with repositories that are due, the longest waiting first."""
        there = (repositories.c.labels_due <= now, repositories.c.removed_at.is_(None))
        active = (installations.c.suspended_at.is_(None), installations.c.removed_at.is_(None))
        query = (
            select(repositories.c.installation_id)
            .join(installations, installations.c.id == repositories.c.installation_id)
            .where(*there, *active, ~repositories.c.archived)
            .group_by(repositories.c.installation_id)
            .order_by(func.min(repositories.c.labels_due))
        )
        return list(await self._database.read(lambda c: c.scalars(query).all()))

    async def due(self, installation_id: int, now: float, most: int) -> list[int]:
        """Return the installation's next repositories that need labels; at most `most`."""
        mine = (repositories.c.installation_id == installation_id, ~repositories.c.archived)
        there = (repositories.c.labels_due <= now, repositories.c.removed_at.is_(None))
        query = select(repositories.c.id).where(*mine, *there)
        query = query.order_by(repositories.c.labels_due, repositories.c.id).limit(most)
        return list(await self._database.read(lambda c: c.scalars(query).all()))

    async def made_since(self, installation_id: int, since: float) -> int:
        """Return how many labels the installation got since `since` (unix seconds)."""
        mine = (repositories.c.installation_id == installation_id, repositories.c.labels_at > since)
        query = select(func.coalesce(func.sum(repositories.c.labels_made), 0)).where(*mine)
        return int(await self._database.read(lambda c: c.scalar(query)) or 0)

    async def record_pass(
        self, repository_id: int, *, made: int, again: float | None, policy_problem: str | None
    ) -> None:
        """Record that a repository got its labels; `again`: when to look next, None: never."""
        this = update(repositories).where(repositories.c.id == repository_id)
        values = {"labels_made": made, "labels_at": time.time(), "labels_due": again}
        change = this.values(policy_problem=policy_problem, **values)
        await self._database.write(lambda c: c.execute(change))

    async def ask_again(self, installation_id: int) -> None:
        """Make all repositories of the installation due, as after it granted more permissions."""
        mine = (
            repositories.c.installation_id == installation_id,
            repositories.c.removed_at.is_(None),
        )
        change = update(repositories).where(*mine).values(labels_due=time.time())
        await self._database.write(lambda c: c.execute(change))

    async def leave(self, installation_id: int) -> None:
        """Make no repository of the installation due: the App may not create labels there."""
        mine = repositories.c.installation_id == installation_id
        change = update(repositories).where(mine).values(labels_due=None)
        await self._database.write(lambda c: c.execute(change))
