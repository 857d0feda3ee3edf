"""The table of runs: what was asked, where each run stands, and how it ended."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Row, case, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from agents.requests import Request, request_of
from agents.run import Outcome
from app.store.audit import PrivilegedAct, append_act
from app.store.database import Database
from app.store.tables import approvals, runs, steers

AT_ONCE = 500
FIRST_PAUSE = 60.0
LONGEST_PAUSE = 900.0
LONGEST_PUT_OFF = 86_400.0
"""For how long a step is tried again, in seconds, and how long the pauses are: each as long as all
before it."""
OPEN = ("queued", "running", "parked")
_FINAL = {
    "pull_request": "done",
    "comment": "done",
    "refused": "refused",
    "cancelled": "cancelled",
    "failed": "failed",
    "covered": "covered",
}


class Runs:
    """The table `runs`: what people see of runs; the engine keeps its own record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, run_id: str, request: Request) -> None:
        """Store a new run as queued; a known id changes nothing."""
        row = {
            "id": run_id,
            "lane": request.lane,
            "kind": request.kind,
            "request": request.model_dump_json(),
            "installation_id": request.installation_id,
            "repository_id": request.repository.id,
            "repository": request.repository.full_name,
            "number": request.number,
            "asked_by": request.asked_by.login,
            "unasked": request.unasked,
            "state": "queued",
            **dict.fromkeys(("created_at", "queued_at", "updated_at"), time.time()),
        }

        def insert_once(connection: Connection) -> None:
            dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
            insert = dialect.insert(runs).values(row).on_conflict_do_nothing()
            if connection.scalar(insert.returning(runs.c.id)) is not None:
                append_act(connection, _describe_request(run_id, request))

        await self._database.write(insert_once)

    async def record_start(self, run_id: str, holder: str = "") -> int:
        """Record that a process of the worker `holder` starts or resumes the run.

        Return how many starts there were since the run last made progress: many mean that the run
        crashes the process.
        """
        change = update(runs).where(runs.c.id == run_id)
        changes: dict[str, Any] = {"starts": runs.c.starts + 1}
        if holder:
            moved = case((runs.c.holder != holder, time.time()), else_=runs.c.moved_at)
            changes |= {"holder": holder, "moved_at": moved}
        counted = change.values(changes).returning(runs.c.starts)
        return await self._database.write(lambda c: c.scalar(counted)) or 0

    async def record_stage(self, run_id: str, step: str) -> None:
        """Record that the run works on this step; a new step counts as progress."""
        again = runs.c.stage == step
        starts = case((again, runs.c.starts), else_=0)
        put_off = case((again, runs.c.put_off_at), else_=None)
        await self._set(run_id, state="running", stage=step, starts=starts, put_off_at=put_off)

    async def record_parked(
        self, run_id: str, waits: str, *, wake_at: float | None = None, heard: int = 0
    ) -> None:
        """Record that the run waits, and leaves its place and its worker.

        `waits`: approval, answer or pause; `wake_at`: when that is over by itself, in unix seconds;
        `heard`: the number of the last steer that the run has taken into account.
        """
        parked = {"waits": waits, "wake_at": wake_at, "heard": heard, "holder": None}
        await self._set(run_id, state="parked", starts=0, **parked)

    async def put_off(self, run_id: str, *, again: bool = False) -> float | None:
        """Park a run whose step cannot be done for now; return for how many seconds.

        `again`: only where it was put off at this step before.

        None: it has been put off for a day without getting anywhere, or is a command or notice.
        """
        now = time.time()

        def put_off(connection: Connection) -> float | None:
            this = runs.c.id == run_id
            before = connection.scalar(select(runs.c.put_off_at).where(this))
            since = before or now
            if again and before is None:
                return None
            if now - since > LONGEST_PUT_OFF:
                return None
            pause = min(max(FIRST_PAUSE, now - since), LONGEST_PAUSE)
            heard = select(func.max(steers.c.number)).where(steers.c.run_id == run_id)
            parked = {"state": "parked", "waits": "pause", "starts": 0, "holder": None}
            values = {**parked, "put_off_at": since, "wake_at": now + pause, "updated_at": now}
            known = func.coalesce(heard.scalar_subquery(), 0)
            change = update(runs).where(this).values(**values, heard=known)
            return pause if connection.execute(change).rowcount else None

        return await self._database.write(put_off)

    async def last_steer(self, run_id: str) -> int:
        """Return the number of the newest thing that was said to the run; 0: nothing was."""
        query = select(func.max(steers.c.number)).where(steers.c.run_id == run_id)
        return await self._database.read(lambda c: c.scalar(query)) or 0

    async def is_parked(self, run_id: str) -> bool:
        """Return whether the run is recorded as waiting for people."""
        query = select(runs.c.state == "parked").where(runs.c.id == run_id)
        return bool(await self._database.read(lambda c: c.scalar(query)))

    async def record_end(self, run_id: str, outcome: Outcome) -> float:
        """Record how the run ended, and make its open approvals void.

        Return how many seconds ago it was asked for.
        """
        now = time.time()
        waits = (approvals.c.run_id == run_id, approvals.c.state == "waiting")
        void = {"state": "void", "decided_at": now, "decision_reason": "the run has ended"}
        ended = {
            "state": _FINAL[outcome.kind],
            "outcome": outcome.model_dump_json(),
            "ended_as": outcome.kind,
        }

        def end(connection: Connection) -> float:
            row = connection.execute(select(runs).where(runs.c.id == run_id)).one_or_none()
            this = update(runs).where(runs.c.id == run_id)
            connection.execute(this.values(updated_at=now, **ended))
            connection.execute(update(approvals).where(*waits).values(**void))
            if row is not None and row.state in OPEN:
                append_act(connection, _describe_end(row, outcome))
            return now - (row.created_at if row is not None else now)

        return await self._database.write(end)

    async def record_comment(self, run_id: str, comment_id: int) -> None:
        """Remember the id of the run's progress comment."""
        await self._set(run_id, comment_id=comment_id)

    async def comment_of(self, run_id: str) -> int | None:
        """Return the id of the run's progress comment, if it has one yet."""
        query = select(runs.c.comment_id).where(runs.c.id == run_id)
        return await self._database.read(lambda c: c.scalar(query))

    async def moved_at(self, run_id: str) -> float | None:
        """Return when another worker than before took the run up (unix seconds), if one did."""
        query = select(runs.c.moved_at).where(runs.c.id == run_id)
        return await self._database.read(lambda c: c.scalar(query))

    async def record_number(self, run_id: str, number: int) -> None:
        """Record the issue on which the run speaks to people, where it began without one."""
        change = update(runs).where(runs.c.id == run_id, runs.c.number != number)
        await self._database.write(lambda c: c.execute(change.values(number=number)))

    async def find_last_issue(self, request: Request) -> int:
        """Return the issue that the newest run of the lane spoke on; 0: no run had one."""
        mine = (runs.c.lane == request.lane, runs.c.repository_id == request.repository.id)
        newest = runs.c.created_at.desc()
        query = select(runs.c.number).where(*mine, runs.c.number != 0).order_by(newest).limit(1)
        return await self._database.read(lambda c: c.scalar(query)) or 0

    async def lane_of(self, run_id: str) -> str | None:
        """Return the run's lane under its present name; None: its request cannot be read."""
        try:
            return request_of(await self.request(run_id)).lane
        except ValidationError:
            return None

    async def outcome(self, run_id: str) -> Outcome | None:
        """Return how the run ended; None: it has not ended."""
        query = select(runs.c.outcome).where(runs.c.id == run_id)
        text = await self._database.read(lambda c: c.scalar(query))
        return Outcome.model_validate_json(text, extra="ignore") if text else None

    async def list_unfinished(self, after: str = "") -> list[str]:
        """Return the next unfinished runs by id; a full `AT_ONCE` means that there are more.

        Runs that wait for people may take days, so there can be many.
        """
        open_after = (runs.c.state.in_(OPEN), runs.c.id > after)
        query = select(runs.c.id).where(*open_after).order_by(runs.c.id).limit(AT_ONCE)
        return list(await self._database.read(lambda c: c.scalars(query).all()))

    async def request(self, run_id: str) -> Any:
        """Return the run's request as JSON values; None where it cannot be read."""
        query = select(runs.c.request).where(runs.c.id == run_id)
        return _parse_json(await self._database.read(lambda c: c.scalar(query)))

    async def latest(self) -> tuple[str, Outcome | None] | None:
        """Return id and outcome of the newest run; the outcome is None while it is under way."""
        query = select(runs.c.id, runs.c.outcome).order_by(runs.c.created_at.desc()).limit(1)
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        if row is None:
            return None
        return row.id, Outcome.model_validate_json(
            row.outcome, extra="ignore"
        ) if row.outcome else None

    async def _set(self, run_id: str, **values: Any) -> None:
        change = update(runs).where(runs.c.id == run_id).values(updated_at=time.time(), **values)
        await self._database.write(lambda c: c.execute(change))


def _parse_json(text: str | None) -> Any:
    with suppress(ValueError):
        return json.loads(text or "")
    return None


def count_by_state(connection: Connection) -> dict[str, int]:
    """Return how many runs are in each state."""
    query = select(runs.c.state, func.count().label("number")).group_by(runs.c.state)
    return {row.state: row.number for row in connection.execute(query)}


def _describe_request(run_id: str, request: Request) -> PrivilegedAct:
    return PrivilegedAct(
        "run.asked",
        request.initiator,
        run_id=run_id,
        installation_id=request.installation_id,
        repository_id=request.repository.id,
        repository=request.repository.full_name,
        details={"pipeline": request.kind, "number": request.number},
    )


def _describe_end(row: Row[Any], outcome: Outcome) -> PrivilegedAct:
    pull = outcome.pull_request
    return PrivilegedAct(
        "run.ended",
        "fettle",
        run_id=row.id,
        installation_id=row.installation_id,
        repository_id=row.repository_id,
        repository=row.repository,
        details={
            "outcome": outcome.kind,
            "rule": outcome.rule,
            "pull_request": pull.number if pull else None,
        },
    )
