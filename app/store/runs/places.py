"""The places of workers: which queued run is at work next, and which parked one is queued anew.

A run has one of its worker's places from the moment that it is taken out of the queue until it ends
or waits for people; then the place is free, and no worker has the run.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    case,
    exists,
    func,
    or_,
    select,
    text,
    update,
)

from agents.requests import RUN_KINDS
from app.store.database import Database
from app.store.process_lock import lock_key
from app.store.tables import approvals, installations, runs, steers, workers

PATIENT_SECONDS = 3600.0
"""After so long what no person asked for counts like what people wait for: its turn comes too."""
TELL_SECONDS = 30.0
"""Within which a worker that is about to tell people of a run's place has done so."""
SAMPLE = 20
"""So many runs that ended last tell how long a run takes."""

_ADMISSION = lock_key("admission to places")
_other = runs.alias("other")


@dataclass(frozen=True)
class QueuedRun:
    """A run that waits for a place."""

    id: str
    installation_id: int
    since: float
    """When it was asked for, in unix seconds."""
    unasked: bool = False
    """The clock found it, or an alert did: no person waits for it."""
    begun: bool = False
    """It has worked before, and waited for people since, or its worker was lost."""
    told_place: int | None = None
    """Its place in the queue as people were told; 0: it needs none, since it will not begin."""
    told_at: float = 0.0
    cancelled: bool = False
    free: bool = True
    """No other run of its issue has to end first."""
    kind: str = ""
    """What was asked for; a newer version may queue kinds that this one does not know."""

    @property
    def waits_for_place(self) -> bool:
        """Return whether a free place is all that it waits for."""
        return self.free and not self.only_ends

    @property
    def only_ends(self) -> bool:
        """Return whether it needs no place: it was cancelled, or will not begin."""
        return self.cancelled or self.told_place == 0


@dataclass(frozen=True)
class QueueState:
    """What waits for a place, in the order in which it gets one."""

    queued: Sequence[QueuedRun]
    at_work: int
    """How many runs have places."""
    run_seconds: float | None
    """How long a run takes, as seen lately; None: none has ended yet."""

    def find(self, run_id: str) -> tuple[int, float | None] | None:
        """Return the run's place in the queue, counted from 1, and how many seconds it may wait.

        None where the run is not queued, or another of its lane goes first.
        """
        for place, each in enumerate(self.queued, 1):
            if each.id == run_id:
                return place, self.guess_wait(place)
        return None

    def guess_wait(self, place: int) -> float | None:
        """Return how many seconds the run at this place is likely to wait; None: nobody knows."""
        if self.run_seconds is None:
            return None
        return self.run_seconds * place / max(1, self.at_work)


def order_fairly(
    queued: Iterable[QueuedRun], at_work: Mapping[int, int], now: float
) -> list[QueuedRun]:
    """Return the runs in the order in which they get places.

    What people wait for comes first; among those the installation with the fewest runs at work,
    counting those that went before; among its runs the one that waits longest.
    """
    served = Counter(at_work)
    ordered: list[QueuedRun] = []
    lines: dict[bool, dict[int, list[QueuedRun]]] = {False: {}, True: {}}
    for run in sorted(queued, key=lambda each: (each.since, each.id), reverse=True):
        later = run.unasked and now - run.since < PATIENT_SECONDS
        lines[later].setdefault(run.installation_id, []).append(run)
    for by_installation in lines.values():
        heads = [(served[each], line[-1].since, each) for each, line in by_installation.items()]
        heapq.heapify(heads)
        while heads:
            _, _, installation = heapq.heappop(heads)
            line = by_installation[installation]
            ordered.append(line.pop())
            served[installation] += 1
            if line:
                heapq.heappush(heads, (served[installation], line[-1].since, installation))
    return ordered


class RunPlaces:
    """The places of one worker, in the table of runs that all workers share.

    `places`: how many runs are at work here at once. `for_one`: how many of one installation are
    at work on all workers together; 0: here all places but one, where there are others.
    """

    def __init__(self, database: Database, worker: str, *, places: int, for_one: int = 0) -> None:
        self._database = database
        self._worker = worker
        self._places = places
        self._for_one = for_one

    async def take(self) -> dict[str, float]:
        """Take queued runs for the places that are free; return how long each waited, in seconds.

        A run that was cancelled, or will not begin, is taken whether or not there is a place: it
        only ends.
        """
        return await self._database.write(self._take)

    async def has_queued(self) -> bool:
        """Return whether any run is queued, or has lost its worker."""
        query = select(runs.c.id).where(or_(runs.c.state == "queued", self._lost)).limit(1)
        return await self._database.read(lambda c: c.scalar(query)) is not None

    async def holds(self, run_id: str) -> bool:
        """Return whether the run has a place here."""
        query = select(runs.c.id).where(runs.c.id == run_id, *self._mine)
        return await self._database.read(lambda c: c.scalar(query)) is not None

    async def list_held(self) -> list[str]:
        """Return the runs that have a place here."""
        query = select(runs.c.id).where(*self._mine)
        return await self._database.read(lambda c: list(c.scalars(query)))

    async def queue_woken(self) -> int:
        """Queue the parked runs whose wait is over, or may be; return how many stay parked."""
        now = time.time()
        parked = runs.c.state == "parked"
        woken = select(runs.c.id).where(parked, _is_woken(now))
        count = select(func.count()).select_from(runs).where(parked)

        def look(connection: Connection) -> tuple[list[str], int]:
            return list(connection.scalars(woken)), connection.scalar(count) or 0

        found, number = await self._database.read(look)
        if found:
            this = update(runs).where(runs.c.id.in_(found), parked)
            change = this.values(state="queued", queued_at=now, updated_at=now)
            await self._database.write(lambda c: c.execute(change))
        return number - len(found)

    async def begin_telling(self, run_id: str) -> bool:
        """Note that this worker tells people where the run stands; False where another does."""
        now = time.time()
        waits = (runs.c.id == run_id, runs.c.state == "queued", _not_being_told(now))
        change = update(runs).where(*waits).values(told_at=now + TELL_SECONDS)
        return await self._database.write(lambda c: c.execute(change).rowcount) == 1

    async def end_telling(self, run_id: str, place: int | None) -> None:
        """Note what was told; 0: the run needs no place. None: nothing could be told."""
        values = {"told_at": time.time()} | ({} if place is None else {"told_place": place})
        change = update(runs).where(runs.c.id == run_id).values(**values)
        await self._database.write(lambda c: c.execute(change))

    @property
    def _mine(self) -> tuple[ColumnElement[bool], ...]:
        return (runs.c.state == "running", runs.c.holder == self._worker)

    @property
    def _lost(self) -> ColumnElement[bool]:
        """Return what holds for runs of a worker that is no more.

        On PostgreSQL others took it over; on SQLite, one process after the other has the file.
        """
        known = exists().where(workers.c.name == runs.c.holder)
        gone = or_(runs.c.holder.is_(None), and_(runs.c.holder != self._worker, ~known))
        return and_(runs.c.state == "running", gone)

    def _take(self, connection: Connection) -> dict[str, float]:
        if connection.dialect.name == "postgresql":  # one worker after the other
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADMISSION})
        now = time.time()
        self._queue_lost(connection, now)
        queued = [each for each in _list_queued(connection) if each.told_at <= now]
        queued = [each for each in queued if each.kind in RUN_KINDS]  # others know what to do
        if not queued:
            return {}
        chosen = [each.id for each in queued if each.only_ends]
        waiting = [each for each in queued if each.waits_for_place]
        chosen += self._choose(connection, waiting, now)
        return {each: self._admit(connection, each, now) for each in chosen}

    def _choose(
        self, connection: Connection, waiting: Sequence[QueuedRun], now: float
    ) -> list[str]:
        at_work, here = _count_at_work(connection), _count_at_work(connection, *self._mine)
        free = self._places - sum(here.values())
        several = connection.scalar(_SEVERAL_INSTALLATIONS) is not None
        chosen: list[str] = []
        for run in order_fairly(waiting, at_work, now):
            if len(chosen) >= free:
                break
            installation = run.installation_id
            if self._for_one:
                full = at_work[installation] >= self._for_one
            else:  # one place is kept for others
                full = several and 1 < self._places == here[installation] + 1
            if not full:
                chosen.append(run.id)
                at_work[installation] += 1
                here[installation] += 1
        return chosen

    def _admit(self, connection: Connection, run_id: str, now: float) -> float:
        """Give the run a place; return how many seconds it waited."""
        moved = case((runs.c.holder != self._worker, now), else_=runs.c.moved_at)
        change = update(runs).where(runs.c.id == run_id).returning(runs.c.queued_at)
        values = {"holder": self._worker, "moved_at": moved, "admitted_at": now, "updated_at": now}
        since = connection.scalar(change.values(state="running", **values))
        return now - (since or now)

    def _queue_lost(self, connection: Connection, now: float) -> None:
        change = update(runs).where(self._lost)
        connection.execute(change.values(state="queued", queued_at=now, updated_at=now))


async def look_at_queue(database: Database) -> QueueState:
    """Return what waits for a place."""

    def look(connection: Connection) -> QueueState:
        queued, at_work = _list_queued(connection), _count_at_work(connection)
        waiting = [each for each in queued if each.waits_for_place]
        seconds = _run_seconds(connection) if waiting else None
        ordered = order_fairly(waiting, at_work, time.time())
        return QueueState(ordered, sum(at_work.values()), seconds)

    return await database.read(look)


_SEVERAL_INSTALLATIONS = (
    select(installations.c.id).where(installations.c.removed_at.is_(None)).limit(1).offset(1)
)


def _list_queued(connection: Connection) -> list[QueuedRun]:
    before = or_(
        _other.c.state.in_(("running", "parked")),
        and_(_other.c.state == "queued", _other.c.id < runs.c.id),
    )
    same = (_other.c.lane == runs.c.lane, _other.c.repository_id == runs.c.repository_id)
    blocked = exists().where(*same, _other.c.id != runs.c.id, before)
    cancelled = exists().where(steers.c.run_id == runs.c.id, steers.c.kind == "cancel")
    columns = (runs.c.id, runs.c.installation_id, runs.c.created_at, runs.c.unasked, runs.c.stage)
    told = (runs.c.kind, runs.c.told_place, runs.c.told_at)
    query = select(*columns, *told, blocked.label("blocked"), cancelled.label("off"))
    rows = connection.execute(query.where(runs.c.state == "queued")).all()
    about_alerts = any(row.unasked and row.kind == "remediate_alert" for row in rows)
    behind = _list_behind_others(connection) if about_alerts else frozenset()
    return [
        QueuedRun(
            id=row.id,
            installation_id=row.installation_id,
            since=row.created_at,
            unasked=row.unasked,
            begun=row.stage is not None,
            told_place=row.told_place,
            told_at=row.told_at or 0.0,
            cancelled=row.off,
            free=not (row.blocked or row.id in behind),
            kind=row.kind,
        )
        for row in rows
    ]


def _list_behind_others(connection: Connection) -> frozenset[str]:
    """Return the queued runs about alerts that have to wait for another of the same folder.

    They would change the same lock file: the next one is to see what the one before it has made.
    What waits for people holds nobody up, and what people asked for does not wait.
    """
    columns = (runs.c.id, runs.c.state, runs.c.repository_id, runs.c.lane)
    mine = (runs.c.kind == "remediate_alert", runs.c.unasked)
    there = runs.c.state.in_(("running", "queued"))
    rows = connection.execute(select(*columns).where(*mine, there)).all()
    behind: set[str] = set()
    begun: set[tuple[int, str]] = set()
    for row in sorted(rows, key=lambda row: (row.state != "running", row.id)):
        folder = (row.repository_id, row.lane.rpartition("!")[0])
        if row.state == "queued" and folder in begun:
            behind.add(row.id)
        begun.add(folder)
    return frozenset(behind)


def _count_at_work(connection: Connection, *only: ColumnElement[bool]) -> Counter[int]:
    """Return how many runs have places, by installation."""
    query = select(runs.c.installation_id, func.count().label("number"))
    rows = connection.execute(
        query.where(runs.c.state == "running", *only).group_by(runs.c.installation_id)
    )
    return Counter({row.installation_id: row.number for row in rows})


def _run_seconds(connection: Connection) -> float | None:
    """Return for how long the runs that ended last had a place, in seconds."""
    worked = (runs.c.ended_as.in_(("pull_request", "comment", "failed")), runs.c.admitted_at > 0)
    last = select((runs.c.updated_at - runs.c.admitted_at).label("seconds")).where(*worked)
    sample = last.order_by(runs.c.updated_at.desc()).limit(SAMPLE).subquery()
    seconds: float | None = connection.scalar(select(func.avg(sample.c.seconds)))
    return seconds


def _is_woken(now: float) -> ColumnElement[bool]:
    """Return what holds for parked runs whose wait may be over; they look themselves, and say so.

    One that an older version parked does not say for what it waits.
    """
    said = exists().where(steers.c.run_id == runs.c.id, steers.c.number > runs.c.heard)
    open_question = (approvals.c.state == "waiting", approvals.c.expires_at > now)
    asks = exists().where(approvals.c.run_id == runs.c.id, *open_question)
    decided = and_(runs.c.waits == "approval", ~asks)
    return or_(runs.c.waits.is_(None), runs.c.wake_at <= now, said, decided)


def _not_being_told(now: float) -> ColumnElement[bool]:
    return or_(runs.c.told_at.is_(None), runs.c.told_at <= now)
