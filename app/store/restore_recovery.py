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
from app.store.tables import deliveries, missed, runs, sweeps

NAME = "recovery"
LOST = "lost"
"""The state of a delivery that arrived once, and is not in the inbox any more."""
_ROW = sweeps.c.name == NAME


@dataclass(frozen=True)
class Recovery:
    """How far GitHub's log of deliveries was read after a restore."""

    since: float
    """The time of the backup, in unix seconds; 0: the log was read back to there."""
    restored_at: float
    cursor: str = ""


def put_back(connection: Connection, since: float) -> None:
    """Record that the database was just restored from a backup of `since` (unix seconds)."""
    query = select(sweeps.c.mark, sweeps.c.done_at).where(_ROW)
    if (earlier := connection.execute(query).one_or_none()) is None:
        fresh = {"name": NAME, "holder": "", "held_until": 0.0}
        connection.execute(insert(sweeps).values(mark=0.0, top=0.0, cursor="", **fresh))
    elif earlier.mark:  # of a backup that was made before all had been asked for
        since = min(since, earlier.mark)
    values = {"mark": since, "top": time.time(), "cursor": "", "done_at": 0.0}
    connection.execute(update(sweeps).where(_ROW).values(values))
    # What waited then may be over by now, as GitHub shows: each such run looks once.
    connection.execute(update(runs).where(runs.c.state == "parked").values(waits=None))


def restore_run_ids(connection: Connection, arrivals: Sequence[Arrival]) -> list[Arrival]:
    """Return the arrivals under the run ids that they had on the lost server.

    The comments, branches and pull requests of the lost server carry these ids, so that the new
    runs find them. An arrival keeps its new id where the old one is unknown, or taken.
    """
    here = select(deliveries.c.id)
    these = (missed.c.guid.in_([each.id for each in arrivals]), missed.c.guid.not_in(here))
    query = select(missed.c.guid, missed.c.run_id).where(*these, missed.c.run_id.is_not(None))
    known = {row.guid: row.run_id for row in connection.execute(query)}
    return [each._replace(run_id=known.pop(each.id, each.run_id)) for each in arrivals]


class Recoveries:
    """The restores of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert = (sqlite if database.engine.dialect.name == "sqlite" else postgresql).insert

    async def restored_at(self) -> float:
        """Return when the database was last restored, in unix seconds; 0: never."""
        query = select(sweeps.c.top).where(_ROW)
        return await self._database.read(lambda c: c.scalar(query)) or 0.0

    async def find_pending(self) -> Recovery | None:
        """Return how far the log was read; None: there was no restore, or all has arrived."""
        query = select(sweeps.c.mark, sweeps.c.top, sweeps.c.cursor)
        query = query.where(_ROW, sweeps.c.done_at == 0.0)
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        return Recovery(row.mark, row.top, row.cursor) if row is not None else None

    async def note(self, recovery: Recovery, attempts: Sequence[Attempt]) -> None:
        """Record which of these attempts are lost, and how far the log was read, at once."""
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

    async def record_run_id(self, guid: str, run_id: str) -> None:
        """Record the run id that the lost delivery had."""
        change = update(missed).where(missed.c.guid == guid).values(run_id=run_id)
        await self._database.write(lambda c: c.execute(change))

    async def count_missing(self, since: float) -> int:
        """Return how many deliveries since `since` (unix seconds) GitHub still has to redeliver."""
        here = missed.c.guid.in_(select(deliveries.c.id))
        still = (missed.c.state == LOST, missed.c.delivered_at >= since)
        query = select(func.count()).select_from(missed).where(*still, ~here)
        return await self._database.read(lambda c: c.scalar(query)) or 0

    async def finish(self) -> None:
        """Record that every delivery that GitHub still had has arrived."""
        change: dict[str, Any] = {"done_at": time.time()}
        await self._database.write(lambda c: c.execute(update(sweeps).where(_ROW).values(change)))
