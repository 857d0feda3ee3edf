"""Leases of scheduled passes, the place in GitHub's delivery log, and deliveries that failed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import structlog
from sqlalchemy import Connection, Row, and_, delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from agents.errors import FettleError
from app.records.deliveries import Attempt
from app.store.database import Database
from app.store.deliveries import oldest_waiting
from app.store.runs.lanes import LIVE
from app.store.tables import deliveries, missed, runs, sweeps

PASS_SECONDS = 540.0
"""For so long one pass may run."""
OF_ISSUE = runs.c.kind != "remediate_alert"
"""Runs about alerts may speak on an issue, but are about none."""
OPEN = missed.c.state.in_(("failed", "lost"))
_NAMELESS = and_(missed.c.state == "lost", missed.c.run_id.is_(None))

log = structlog.get_logger()


@dataclass(frozen=True)
class LogPosition:
    """How far GitHub's delivery log was read, in unix seconds.

    All up to `mark` was read; a pass under way has read from `top` down to `cursor`.
    """

    mark: float = 0.0
    top: float = 0.0
    cursor: str = ""


class Missed(NamedTuple):
    """A delivery that never arrived, or whose arrival was lost with the database."""

    guid: str
    delivery_id: int
    asks: int
    nameless: bool = False
    """The delivery was lost, and its run id on the lost server is not known yet."""


class Sweeps:
    """The tables `sweeps` and `missed`, for one process."""

    def __init__(self, database: Database, holder: str) -> None:
        self._database = database
        self._holder = holder
        dialect = sqlite if database.engine.dialect.name == "sqlite" else postgresql
        self._insert = dialect.insert

    @asynccontextmanager
    async def turn(self, name: str, seconds: float) -> AsyncIterator[bool]:
        """Hold the lease of a pass for at most `seconds`; False when another process holds it.

        A process that was killed takes its lease again under its own name.
        """
        held = await self._database.write(lambda c: self._take(c, name, seconds))
        try:
            yield held
        finally:
            if held:
                mine = (sweeps.c.name == name, sweeps.c.holder == self._holder)
                over = update(sweeps).where(*mine).values(held_until=0.0)
                await self._database.write(lambda c: c.execute(over))

    def _take(self, connection: Connection, name: str, seconds: float) -> bool:
        now = time.time()
        fresh = {"mark": 0.0, "top": 0.0, "cursor": "", "holder": self._holder, "held_until": 0.0}
        connection.execute(self._insert(sweeps).values(name=name, **fresh).on_conflict_do_nothing())
        free = or_(sweeps.c.held_until <= now, sweeps.c.holder == self._holder)
        take = update(sweeps).where(sweeps.c.name == name, free).returning(sweeps.c.name)
        values = {"holder": self._holder, "held_until": now + seconds}
        return connection.scalar(take.values(values)) is not None

    async def finish_pass(self, name: str) -> None:
        """Record that a pass has ended."""
        change = update(sweeps).where(sweeps.c.name == name).values(done_at=time.time())
        await self._database.write(lambda c: c.execute(change))

    async def last_pass_at(self, name: str) -> float:
        """Return when the pass last ended, in unix seconds; 0: never."""
        query = select(sweeps.c.done_at).where(sweeps.c.name == name)
        return await self._database.read(lambda c: c.scalar(query)) or 0.0

    async def read_progress(self, name: str) -> LogPosition:
        """Return how far the pass has read GitHub's log."""
        query = select(sweeps.c.mark, sweeps.c.top, sweeps.c.cursor).where(sweeps.c.name == name)
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        return LogPosition(row.mark, row.top, row.cursor) if row is not None else LogPosition()

    async def note(self, name: str, reading: LogPosition, attempts: Sequence[Attempt]) -> None:
        """Store a page of attempts and how far it reaches, in one transaction.

        The log comes newest first, so a redelivery that arrived may come before the attempt that
        failed: a repeated attempt is kept as arrived.
        """
        place = {"mark": reading.mark, "top": reading.top, "cursor": reading.cursor}

        def keep(connection: Connection) -> None:
            connection.execute(update(sweeps).where(sweeps.c.name == name).values(place))
            self._keep(connection, [each for each in attempts if not each.ok], "failed")
            self._keep(connection, [a for a in attempts if a.ok and a.repeated], "arrived")
            arrived = [each.guid for each in attempts if each.ok]
            if arrived:
                these = update(missed).where(missed.c.guid.in_(arrived), missed.c.state != "lost")
                connection.execute(these.values(state="arrived"))

        await self._database.write(keep)

    def _keep(self, connection: Connection, attempts: Sequence[Attempt], state: str) -> None:
        rows = {each.guid: missing_row(each, state) for each in attempts}  # of several the oldest
        if not rows:
            return
        insert = self._insert(missed)
        older = insert.excluded.delivered_at < missed.c.delivered_at
        at = {"delivered_at": insert.excluded.delivered_at}
        connection.execute(
            insert.on_conflict_do_update(index_elements=["guid"], set_=at, where=older),
            list(rows.values()),
        )

    async def due(self, *, now: float, since: float, most: int) -> list[Missed]:
        """Return at most `most` deliveries that GitHub shall redeliver now, in order of attempt.

        A delivery in the inbox has arrived, even where GitHub never got the answer. `now` and
        `since` are unix seconds.
        """

        def look(connection: Connection) -> Sequence[Row[Any]]:
            here = select(deliveries.c.id)
            open_ = (OPEN, missed.c.guid.in_(here))
            connection.execute(update(missed).where(*open_).values(state="arrived"))
            due = (OPEN, missed.c.next_at <= now)
            query = select(missed.c.guid, missed.c.delivery_id, missed.c.asks, _NAMELESS)
            query = query.where(*due, missed.c.delivered_at >= since)
            return connection.execute(
                query.order_by(missed.c.delivered_at, missed.c.delivery_id).limit(most)
            ).all()

        rows = await self._database.write(look)
        return [Missed._make(row) for row in rows]

    async def record_redelivery(self, each: Missed, *, next_at: float) -> None:
        """Record that GitHub was asked to redeliver it; the next try is at `next_at` (unix s)."""
        this = update(missed).where(missed.c.guid == each.guid)
        change = this.values(asks=each.asks + 1, next_at=next_at)
        await self._database.write(lambda c: c.execute(change))

    async def record_gone(self, guid: str) -> None:
        """Record that GitHub no longer has the delivery."""
        change = update(missed).where(missed.c.guid == guid).values(state="gone")
        await self._database.write(lambda c: c.execute(change))

    async def forget(self, *, before: float) -> None:
        """Delete deliveries from before `before` (unix seconds): GitHub's log has them no more."""
        old = delete(missed).where(missed.c.delivered_at < before)
        await self._database.write(lambda c: c.execute(old))

    async def open_of(self, repository_id: int, event: str, action: str) -> int:
        """Return how many deliveries of this repository, event and action may still arrive."""
        like = (
            OPEN,
            missed.c.repository_id == repository_id,
            missed.c.event == event,
            missed.c.action == action,
        )
        query = select(func.count()).select_from(missed).where(*like)
        return await self._database.read(lambda c: c.scalar(query)) or 0

    async def run_since(self, repository_id: int, number: int, since: float) -> str | None:
        """Return a run of the issue that was asked for since `since` (unix seconds), if any."""
        about = (runs.c.repository_id == repository_id, runs.c.number == number, OF_ISSUE)
        query = select(runs.c.id).where(*about, runs.c.created_at >= since).limit(1)
        return await self._database.read(lambda c: c.scalar(query))

    async def busy(self, repository: str, number: int) -> bool:
        """Return whether a run of the issue is under way; `repository` is `owner/name`."""
        about = (runs.c.repository == repository, runs.c.number == number, OF_ISSUE)
        query = select(runs.c.id).where(LIVE, *about).limit(1)
        return await self._database.read(lambda c: c.scalar(query)) is not None

    async def oldest_waiting(self) -> float | None:
        """Return when the first waiting delivery was received, in unix seconds."""
        return await self._database.read(oldest_waiting)


class PassLock:
    """Lets one pass run at a time, across processes, and none for ever."""

    def __init__(self, sweeps: Sweeps, name: str, seconds: float = PASS_SECONDS) -> None:
        self._seconds = seconds
        self._sweeps = sweeps
        self._name = name
        self._busy = asyncio.Lock()

    async def take(self, make_pass: Callable[[], Awaitable[None]]) -> bool:
        """Make the pass, unless one is under way; an interrupted pass is made up for by the next.

        Return whether its time was up before it was done.
        """
        if self._busy.locked():
            return False
        try:
            async with self._busy, self._sweeps.turn(self._name, self._seconds) as ours:
                if ours:
                    async with asyncio.timeout(self._seconds - 30):
                        await make_pass()
                    await self._sweeps.finish_pass(self._name)
        except TimeoutError:
            log.info("sweep goes on in the next pass", sweep=self._name)
            return True
        except FettleError as error:
            log.warning("sweep cut short", sweep=self._name, reason=str(error))
        return False


def missing_row(attempt: Attempt, state: str) -> dict[str, Any]:
    """Return the row of the table `missed` for an attempt."""
    return {
        "guid": attempt.guid,
        "delivery_id": attempt.delivery_id,
        "event": attempt.event,
        "action": attempt.action,
        "repository_id": attempt.repository_id,
        "state": state,
        "delivered_at": attempt.at,
        "asks": 0,
        "next_at": 0.0,
    }
