"""What people want of a run while it is under way, in the order in which they said it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select
from sqlalchemy.dialects import postgresql, sqlite

from agents.ports import Steer, SteerKind, SteerVia
from agents.requests import ResolveIssue
from app.store.database import Database, drop_unstorable
from app.store.runs.lanes import LIVE, in_lane
from app.store.tables import runs, steers

ANEW = "-anew"
"""What the id of the command that ends older runs has besides that of the newer run."""


class StoredSteers:
    """The table `steers`. Rows are only added."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self,
        run_ids: str | Sequence[str],
        key: str,
        *,
        kind: SteerKind,
        via: SteerVia,
        by: str,
        by_id: int | None = None,
        role: str = "",
        words: str = "",
        usd: float = 0.0,
        url: str = "",
    ) -> bool:
        """Add what somebody wants of these runs; a key that is there already changes nothing.

        Return whether any of the runs gets it: False means that all have ended, or never existed.
        """
        meant = [run_ids] if isinstance(run_ids, str) else list(run_ids)
        row = {
            "kind": kind,
            "via": via,
            "by": drop_unstorable(by)[:80],
            "by_id": by_id,
            "role": drop_unstorable(role)[:60],
            "words": drop_unstorable(words),
            "usd": usd,
            "url": url,
        }
        rows = [{"run_id": each, "key": _key(key, each), **row} for each in meant]
        return await self._database.write(lambda c: _insert_rows(c, meant, rows)) > 0

    async def find_told_run(self, key: str) -> str | None:
        """Return a run that got the steer of this key, if any did."""
        mine = steers.c.key.startswith(f"{key}/", autoescape=True)
        query = select(steers.c.run_id).where(mine).limit(1)
        return await self._database.read(lambda c: c.scalar(query))

    async def supersede(self, run_id: str, request: ResolveIssue, *, role: str = "") -> int:
        """Cancel the older unfinished runs of the request's lane; return how many.

        To be called only when it is known that the asker, who has this `role`, may start work.
        """

        def cancel(connection: Connection) -> int:
            older = select(runs.c.id).where(*in_lane(request), LIVE, runs.c.id < run_id)
            ids: list[str] = list(connection.scalars(older.order_by(runs.c.id)))
            return _insert_rows(
                connection, ids, [_restart_row(each, request, role) for each in ids]
            )

        return await self._database.write(cancel)

    async def list_after(self, run_id: str, number: int = 0) -> list[Steer]:
        """Return the run's steers after this number, oldest first."""
        query = (
            select(steers)
            .where(steers.c.run_id == run_id, steers.c.number > number)
            .order_by(steers.c.number)
        )
        return [_steer(row) for row in await self._database.read(lambda c: c.execute(query).all())]

    async def cancel_of(self, run_id: str) -> Steer | None:
        """Return the first steer that cancels the run, if there is one."""
        query = (
            select(steers)
            .where(steers.c.run_id == run_id, steers.c.kind == "cancel")
            .order_by(steers.c.number)
            .limit(1)
        )
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        return _steer(row) if row is not None else None

    async def sum_granted(self, run_id: str, *, besides: str = "") -> float:
        """Return the dollars that people granted the run, without the steer `besides`."""
        query = select(func.sum(steers.c.usd)).where(
            steers.c.run_id == run_id,
            steers.c.kind == "budget",
            steers.c.key != _key(besides, run_id),
        )
        return await self._database.read(lambda c: c.scalar(query)) or 0.0

    async def steered_since(self, moment: float) -> list[tuple[str, str]]:
        """Return key and run of each steer since `moment` (unix seconds)."""
        query = select(steers.c.key, steers.c.run_id).where(steers.c.at >= moment)
        found = await self._database.read(lambda c: c.execute(query).all())
        return [(row.key, row.run_id) for row in found]


# --- inside one transaction ---------------------------------------------------------------------


def _insert_rows(connection: Connection, run_ids: list[str], rows: Iterable[dict[str, Any]]) -> int:
    """Keep these; return how many are kept by now.

    The runs stay locked until the end: numbers grow in the order in which others see the rows, so
    whoever asks for what came after one of them misses nothing.
    """
    locked = select(runs.c.id).where(runs.c.id.in_(run_ids), LIVE).order_by(runs.c.id)
    live: set[str] = set(connection.scalars(locked.with_for_update()))
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    kept = 0
    for row in rows:
        known = select(steers.c.number).where(steers.c.key == row["key"])
        if connection.scalar(known) is None:
            if row["run_id"] not in live:
                continue
            insert = dialect.insert(steers).values(at=time.time(), **row)
            connection.execute(insert.on_conflict_do_nothing(index_elements=["key"]))
        kept += 1
    return kept


def _restart_row(older: str, request: ResolveIssue, role: str) -> dict[str, Any]:
    return {
        "run_id": older,
        "key": _key("anew", older),
        "kind": "cancel",
        "via": "relabel",
        "by": request.asked_by.login[:80],
        "by_id": request.asked_by.id,
        "role": drop_unstorable(role)[:60],
        "words": "",
        "usd": 0.0,
        "url": request.url,
    }


def _key(key: str, run_id: str) -> str:
    return f"{key}/{run_id}"[:120]


def _steer(row: Row[Any]) -> Steer:
    return Steer(
        number=row.number,
        kind=row.kind,
        words=row.words,
        usd=row.usd,
        by=row.by,
        role=row.role,
        via=row.via,
        url=row.url,
        at=row.at,
    )
