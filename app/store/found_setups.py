"""What second looks at the set-ups of repositories came to: the table `found_setups`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite

from agents.ports import SetupProposal
from app.store.alerts import repository_of
from app.store.database import Database
from app.store.proposals import TaughtRepository
from app.store.tables import found_setups, installations, repositories

VAIN = 7 * 86_400.0
"""Seconds for which no model is asked again where it was asked in vain."""


@dataclass(frozen=True)
class StoredSetups:
    """The port `SetupMemory`: one row for each repository."""

    database: Database
    repository_id: int
    clock: Callable[[], float] = time.time

    async def recall(self) -> SetupProposal | None:
        """Return what the last second look came to, if it helped, or was lately."""
        query = select(found_setups).where(found_setups.c.repository_id == self.repository_id)
        row = await self.database.read(lambda c: c.execute(query).one_or_none())
        if row is None or not (row.helps or row.at > self.clock() - VAIN):
            return None
        return SetupProposal.model_validate_json(row.proposal, extra="ignore")

    async def note(self, proposal: SetupProposal) -> None:
        """Keep what came of this one; who asked the owners before does not ask them again."""
        said = {
            "proposal": proposal.model_dump_json(),
            "helps": proposal.holds,
            "at": self.clock(),
        }
        dialect = sqlite if self.database.engine.dialect.name == "sqlite" else postgresql
        row = dialect.insert(found_setups).values(repository_id=self.repository_id, **said)
        kept = row.on_conflict_do_update(index_elements=["repository_id"], set_=said)
        await self.database.write(lambda c: c.execute(kept))

    async def settle(self, number: int) -> None:
        """Note that the owners were asked; said again, nothing changes."""
        here = found_setups.c.repository_id == self.repository_id
        open_ = here & found_setups.c.number.is_(None)
        await self.database.write(
            lambda c: c.execute(update(found_setups).where(open_).values(number=number))
        )


async def list_offers(database: Database, most: int) -> list[TaughtRepository]:
    """Return repositories whose owners were not asked yet about commands that help."""
    query = (
        select(repositories)
        .join(found_setups, found_setups.c.repository_id == repositories.c.id)
        .join(installations, installations.c.id == repositories.c.installation_id)
        .where(
            found_setups.c.helps,
            found_setups.c.number.is_(None),
            repositories.c.removed_at.is_(None),
            ~repositories.c.archived,
            installations.c.removed_at.is_(None),
            installations.c.suspended_at.is_(None),
        )
        .order_by(repositories.c.id)
        .limit(most)
    )
    rows = await database.read(lambda c: c.execute(query).all())
    return [
        TaughtRepository(
            row.installation_id,
            repository_of(row.id, row.full_name, row.default_branch, private=row.private),
        )
        for row in rows
    ]
