"""How pull requests of Fettle ended: the table `ended_pulls`. Merged ones are watched."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from app.store.database import Database
from app.store.tables import ended_pulls
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
    ended_at: float
    """Unix seconds, by this server's clock when GitHub told of it."""


@dataclass(frozen=True)
class EndedPulls:
    """The pull requests of one database."""

    database: Database
    clock: Callable[[], float] = time.time

    async def note(self, notice: PullClosed) -> None:
        """Keep how it ended, and since when; told again what is known already changes nothing."""
        ended = {
            "branch": notice.base,
            "merged": notice.merged,
            "commit": notice.commit,
            "ended_at": self.clock(),
        }
        place = {"repository_id": notice.repository.id, "number": notice.number}
        mine = [ended_pulls.c[name] == value for name, value in place.items()]

        def write(connection: Connection) -> None:
            known = connection.execute(select(ended_pulls.c.merged).where(*mine)).one_or_none()
            if known is None:
                looked = {"looks": 0, "head": "", "notice": ""}
                connection.execute(insert(ended_pulls).values(**place, **ended, **looked))
            elif notice.merged and not known.merged:  # it was opened again in between
                connection.execute(update(ended_pulls).where(*mine).values(**ended))

        await self.database.write(write)

    async def read_ends(self) -> Mapping[tuple[int, int], bool]:
        """Return of each pull request, by repository and number, whether it was merged."""
        query = select(ended_pulls.c.repository_id, ended_pulls.c.number, ended_pulls.c.merged)
        rows = await self.database.read(lambda c: c.execute(query).all())
        return {(row.repository_id, row.number): row.merged for row in rows}

    async def has_any(self, repository_id: int) -> bool:
        """Return whether anything of the repository is watched; one look at an index."""
        query = select(ended_pulls.c.number).where(
            ended_pulls.c.repository_id == repository_id,
            ended_pulls.c.merged,
            ended_pulls.c.ended_at >= self.clock() - LONGEST,
        )
        return await self.database.read(lambda c: c.scalar(query.limit(1))) is not None

    async def list_suspects(self, suspicion: Suspicion, ident: str) -> Sequence[WatchedMerge]:
        """Return what may be to blame and was not looked at for this yet, the newest first.

        `ident`: the notice's id. Asked again by the same, it returns the same.
        """
        query = select(ended_pulls).where(
            ended_pulls.c.repository_id == suspicion.repository.id,
            ended_pulls.c.merged,
            ended_pulls.c.ended_at >= self.clock() - LONGEST,
        )

        def claim(connection: Connection) -> list[WatchedMerge]:
            rows = connection.execute(query.order_by(ended_pulls.c.ended_at.desc()))
            found = [row for row in rows if _is_suspect(row, suspicion, ident)][:MOST_AT_ONCE]
            for row in found:
                if row.notice != ident:
                    self._note(connection, row, suspicion, ident)
            return [WatchedMerge(r.number, r.branch, r.commit, r.ended_at) for r in found]

        return await self.database.write(claim)

    def _note(
        self, connection: Connection, row: Row[Any], suspicion: Suspicion, ident: str
    ) -> None:
        mine = update(ended_pulls).where(
            ended_pulls.c.repository_id == row.repository_id,
            ended_pulls.c.number == row.number,
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
