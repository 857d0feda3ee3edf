"""Which reviews and failed checks each run on a pull request has dealt with, for later runs."""

from __future__ import annotations

import json
import time
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.dialects import postgresql, sqlite

from agents.ports import Batch
from agents.requests import AddressReview, OnPull
from app.store.database import Database
from app.store.tables import batches, runs


class Batches:
    """The table `batches`: for each run, the reviews or checks that it dealt with."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def remember(self, run_id: str, request: OnPull, batch: Batch) -> None:
        """Record what the run has dealt with; a later call replaces an earlier one."""
        known = {
            "kind": batch.kind,
            "head": batch.head,
            "pushed": batch.pushed,
            "reviews": json.dumps(batch.reviews),
            "newest_remark": batch.newest_remark,
            "kept_back": batch.kept_back,
        }
        row = {
            "run_id": run_id,
            "repository_id": request.repository.id,
            "number": request.number,
            "at": time.time(),
            **known,
        }
        dialect = sqlite if self._database.engine.dialect.name == "sqlite" else postgresql
        insert = dialect.insert(batches).values(row)
        once = insert.on_conflict_do_update(index_elements=["run_id"], set_=known)
        await self._database.write(lambda c: c.execute(once))

    async def list_of_pull(
        self, repository_id: int, number: int, *, besides: str = ""
    ) -> tuple[Batch, ...]:
        """Return what runs other than `besides` have dealt with on a pull request, oldest first."""
        query = (
            select(batches)
            .where(
                batches.c.repository_id == repository_id,
                batches.c.number == number,
                batches.c.run_id != besides,
            )
            .order_by(batches.c.at, batches.c.run_id)
        )
        return tuple(map(_batch, await self._database.read(lambda c: c.execute(query).all())))

    async def covers(self, run_id: str, request: OnPull) -> bool:
        """Tell whether another run has dealt with the review or checks behind this request."""
        if request.kind == "address_review":
            return await self._has_begun(run_id, request)
        if request.kind != "fix_checks":
            return False
        there = await self.list_of_pull(request.repository.id, request.number, besides=run_id)
        return any(batch.kind == "checks" and batch.head == request.head for batch in there)

    async def _has_begun(self, run_id: str, request: AddressReview) -> bool:
        """Tell whether another run was about the review.

        One that was called back, as when somebody dismissed another review of its batch, has left
        the rest of them to the runs after it.
        """
        query = (
            select(batches.c.reviews)
            .join(runs, runs.c.id == batches.c.run_id)
            .where(
                batches.c.repository_id == request.repository.id,
                batches.c.number == request.number,
                batches.c.run_id != run_id,
                ~batches.c.kept_back | (runs.c.state != "cancelled"),
            )
        )
        begun: list[str] = await self._database.read(lambda c: list(c.scalars(query)))
        return any(request.review_id in json.loads(each) for each in begun)

    async def has_pushed(self, request: OnPull, commit: str) -> bool:
        """Tell whether a run has pushed this commit there."""
        there = await self.list_of_pull(request.repository.id, request.number)
        return any(batch.pushed == commit != "" for batch in there)

    async def has_mended(self, repository_id: int, number: int) -> bool:
        """Tell whether a run has made a change for failing checks there."""
        there = await self.list_of_pull(repository_id, number)
        return any(batch.kind == "checks" and batch.pushed for batch in there)


def _batch(row: Row[Any]) -> Batch:
    return Batch(
        kind=row.kind,
        head=row.head,
        pushed=row.pushed,
        reviews=tuple(json.loads(row.reviews)),
        newest_remark=row.newest_remark,
        kept_back=row.kept_back,
    )
