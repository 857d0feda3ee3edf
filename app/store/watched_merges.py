"""Merged changes that are watched for what they may have broken: the table `watched_merges`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from app.store.database import Database
from app.store.tables import watched_merges
from handlers.notifications import PullClosed, Suspicion

LONGEST = 7 * 86_400.0
"""Seconds: no policy can have a merge watched for longer."""
MOST_LOOKS = 3
"""Times that one merge is looked at: each has the repository's checks run four times."""
MOST_AT_ONCE = 5
"""Merges that one failure has looked at, the newest first."""


@dataclass(frozen=True)
class WatchedMerge:
    """A merged pull request of Fettle's."""

    number: int
    branch: str
    commit: str
    merged_at: float
    """Unix seconds, by this server's clock when GitHub told of it."""


@dataclass(frozen=True)
class WatchedMerges:
    """The merges of one database."""

    database: Database
    clock: Callable[[], float] = time.time

    async def begin(self, notice: PullClosed) -> None:
        """Watch this merge from now on; told twice it is watched once, from the first time."""
        row = {
            "repository_id": notice.repository.id,
            "number": notice.number,
            "branch": notice.base,
            "commit": notice.commit,
            "merged_at": self.clock(),
            "looks": 0,
            "head": "",
            "notice": "",
        }

        def write(connection: Connection) -> None:
            old = watched_merges.c.merged_at < self.clock() - LONGEST
            connection.execute(delete(watched_merges).where(old))
            mine = select(watched_merges.c.number).where(
                watched_merges.c.repository_id == notice.repository.id,
                watched_merges.c.number == notice.number,
            )
            if connection.scalar(mine) is None:
                connection.execute(insert(watched_merges).values(row))

        await self.database.write(write)

    async def has_any(self, repository_id: int) -> bool:
        """Return whether anything of the repository is watched; one look at an index."""
        query = select(watched_merges.c.number).where(
            watched_merges.c.repository_id == repository_id,
            watched_merges.c.merged_at >= self.clock() - LONGEST,
        )
        return await self.database.read(lambda c: c.scalar(query.limit(1))) is not None

    async def list_suspects(self, suspicion: Suspicion, ident: str) -> Sequence[WatchedMerge]:
        """Return what may be to blame and was not looked at for this yet, the newest first.

        `ident`: the notice's id. Asked again by the same, it returns the same.
        """
        query = select(watched_merges).where(
            watched_merges.c.repository_id == suspicion.repository.id,
            watched_merges.c.merged_at >= self.clock() - LONGEST,
        )

        def claim(connection: Connection) -> list[WatchedMerge]:
            rows = connection.execute(query.order_by(watched_merges.c.merged_at.desc()))
            found = [row for row in rows if _is_suspect(row, suspicion, ident)][:MOST_AT_ONCE]
            for row in found:
                if row.notice != ident:
                    self._note(connection, row, suspicion, ident)
            return [WatchedMerge(r.number, r.branch, r.commit, r.merged_at) for r in found]

        return await self.database.write(claim)

    def _note(
        self, connection: Connection, row: Row[Any], suspicion: Suspicion, ident: str
    ) -> None:
        mine = update(watched_merges).where(
            watched_merges.c.repository_id == row.repository_id,
            watched_merges.c.number == row.number,
        )
        looked = {"looks": row.looks + 1, "notice": ident, "head": suspicion.head or row.head}
        connection.execute(mine.values(**looked))


def _is_suspect(row: Row[Any], suspicion: Suspicion, ident: str) -> bool:
    if row.notice == ident:
        return True
    if row.looks >= MOST_LOOKS:
        return False
    if suspicion.branch:
        return bool(row.branch == suspicion.branch and row.head != suspicion.head)
    return any(
        each == str(row.number) or (len(each) > 9 and row.commit.startswith(each))
        for each in suspicion.named
    )
