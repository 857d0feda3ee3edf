"""Progress of the redelivery that GitHub is asked for after a restore from a backup.

The row `recovery` of the table `sweeps` holds it: `mark` is the time of the backup until GitHub's
log was read back to there, then 0; `cursor` is where reading continues; `top` is when the restore
was, and stays; `done_at` is when the last delivery had arrived.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.records.deliveries import Attempt
from app.store.database import Database
from app.store.deliveries import Arrival
from app.store.schedule_leases import missing_row
from app.store.tables import deliveries, missed, sweeps

NAME = "recovery"
LOST = "lost"
"""The state of a delivery that arrived once, and is not in the inbox any more."""
_ROW = sweeps.c.name == NAME


@dataclass(frozen=True)
class Recovery:
    """How far the asking is."""

    since: float
    """As of when the database is, in unix seconds; 0: the log was read back to there."""
    restored_at: float
    cursor: str = ""


def put_back(connection: Connection, since: float) -> None:
    """Note that the database has just been put back, as it was at that moment."""
    query = select(sweeps.c.mark, sweeps.c.done_at).where(_ROW)
    if (earlier := connection.execute(query).one_or_none()) is None:
        fresh = {"name": NAME, "holder": "", "held_until": 0.0}
        connection.execute(insert(sweeps).values(mark=0.0, top=0.0, cursor="", **fresh))
    elif earlier.mark:  # of a backup that was made before all had been asked for
        since = min(since, earlier.mark)
    values = {"mark": since, "top": time.time(), "cursor": "", "done_at": 0.0}
    connection.execute(update(sweeps).where(_ROW).values(values))


def recalled(connection: Connection, arrivals: Sequence[Arrival]) -> list[Arrival]:
    """Return them with the run ids that they had before, where those are known and not taken.

    What the lost server has made bears them: comments, branches, pull requests are found again.
    """
    here = select(deliveries.c.id)
    these = (missed.c.guid.in_([each.id for each in arrivals]), missed.c.guid.not_in(here))
    query = select(missed.c.guid, missed.c.run_id).where(*these, missed.c.run_id.is_not(None))
    known = {row.guid: row.run_id for row in connection.execute(query)}
    return [each._replace(run_id=known.pop(each.id, each.run_id)) for each in arrivals]


class Recoveries:
    """What one database knows of its being put back."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert = (sqlite if database.engine.dialect.name == "sqlite" else postgresql).insert

    async def restored_at(self) -> float:
        """Return when the database was last put back, in unix seconds; 0: never."""
        query = select(sweeps.c.top).where(_ROW)
        return await self._database.read(lambda c: c.scalar(query)) or 0.0

    async def pending(self) -> Recovery | None:
        """Return how far the asking is; None when there is none, or it is over."""
        query = select(sweeps.c.mark, sweeps.c.top, sweeps.c.cursor)
        query = query.where(_ROW, sweeps.c.done_at == 0.0)
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        return Recovery(row.mark, row.top, row.cursor) if row is not None else None

    async def note(self, recovery: Recovery, attempts: Sequence[Attempt]) -> None:
        """Keep which of these are lost, and how far was read, in one transaction."""
        place = {"mark": recovery.since, "cursor": recovery.cursor}

        def keep(connection: Connection) -> None:
            connection.execute(update(sweeps).where(_ROW).values(place))
            guids = [each.guid for each in attempts]
            arrived = select(deliveries.c.id).where(deliveries.c.id.in_(guids))
            here: set[str] = set(connection.scalars(arrived))
            # Newest first: of several attempts that arrived the oldest has the run's id.
            rows = {a.guid: missing_row(a, LOST) for a in attempts if a.guid not in here}
            if rows:
                made = self._insert(missed)
                first = {name: made.excluded[name] for name in ("state", "delivery_id")}
                first["delivered_at"] = made.excluded.delivered_at
                once = made.on_conflict_do_update(index_elements=["guid"], set_=first)
                connection.execute(once, list(rows.values()))

        await self._database.write(keep)

    async def called(self, guid: str, run_id: str) -> None:
        """Note what the lost delivery was called."""
        change = update(missed).where(missed.c.guid == guid).values(run_id=run_id)
        await self._database.write(lambda c: c.execute(change))

    async def left(self, since: float) -> int:
        """Return how many are still to come that GitHub has from since then."""
        here = missed.c.guid.in_(select(deliveries.c.id))
        still = (missed.c.state == LOST, missed.c.delivered_at >= since)
        query = select(func.count()).select_from(missed).where(*still, ~here)
        return await self._database.read(lambda c: c.scalar(query)) or 0

    async def over(self) -> None:
        """Note that all has arrived that GitHub still had."""
        change: dict[str, Any] = {"done_at": time.time()}
        await self._database.write(lambda c: c.execute(update(sweeps).where(_ROW).values(change)))
