"""The table `boards`: the dashboard issue of each repository, and when it was last looked at."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from agents.requests import Repository
from app.store.alerts import repository_of
from app.store.database import Database
from app.store.tables import boards, installations, repositories, runs


@dataclass(frozen=True)
class StoredBoard:
    """A repository, and its dashboard as far as one is known."""

    installation_id: int
    repository: Repository
    number: int
    """The dashboard issue; 0: none is known."""
    digest: str
    """SHA-256 of its text, as it was last written."""


class Boards:
    """The dashboards of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_due(self, most: int) -> list[StoredBoard]:
        """Return the repositories of which a run has moved since the last look, longest first."""
        looked = func.coalesce(boards.c.looked_at, 0.0)
        here = runs.c.repository_id == repositories.c.id
        newest = select(func.max(runs.c.updated_at)).where(here)
        query = (
            select(repositories, boards.c.number, boards.c.digest)
            .join(installations, installations.c.id == repositories.c.installation_id)
            .join(boards, boards.c.repository_id == repositories.c.id, isouter=True)
            .where(
                repositories.c.removed_at.is_(None),
                ~repositories.c.archived,
                installations.c.removed_at.is_(None),
                installations.c.suspended_at.is_(None),
                or_(looked < newest.scalar_subquery(), boards.c.looked_at == 0.0),
            )
            .order_by(looked, repositories.c.id)
            .limit(most)
        )
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [
            StoredBoard(
                row.installation_id,
                repository_of(row.id, row.full_name, row.default_branch, private=row.private),
                row.number or 0,
                row.digest or "",
            )
            for row in rows
        ]

    async def find_number(self, repository_id: int) -> int:
        """Return the number of the repository's dashboard issue; 0: none is known."""
        query = select(boards.c.number).where(boards.c.repository_id == repository_id)
        return await self._database.read(lambda c: c.scalar(query)) or 0

    async def record(self, repository_id: int, *, number: int, digest: str, at: float) -> None:
        """Keep what was written; `at` in unix seconds: later changes of runs are looked at."""
        dialect = sqlite if self._database.engine.dialect.name == "sqlite" else postgresql
        told = {"number": number, "digest": digest, "looked_at": at}
        row = dialect.insert(boards).values(repository_id=repository_id, **told)
        once = row.on_conflict_do_update(index_elements=["repository_id"], set_=told)
        await self._database.write(lambda c: c.execute(once))
