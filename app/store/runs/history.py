"""Queries on past and present runs for people to look at; all of them only read."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import ColumnClause, Connection, Row, Select, bindparam, func, inspect, select, true
from sqlalchemy import column as a_column
from sqlalchemy import table as a_table
from sqlalchemy.exc import DBAPIError

from agents.ports import Block, Json, Ruling, Usage
from agents.requests import RemediateAlert, request_of
from agents.run import Outcome
from app.records.approvals import StoredApproval
from app.store.database import Database
from app.store.encryption.columns import SealedText
from app.store.engine_tables import SCHEMA
from app.store.runs.approvals import StoredApprovals
from app.store.tables import runs, turns

_OF_A_RUN = (
    *("id", "repository", "repository_id", "number", "kind", "request", "asked_by"),
    *("state", "stage", "created_at", "updated_at", "outcome", "kept_usd", "kept_answers"),
    "holder",
)
SEVERITIES = ("critical", "high", "medium", "low")
"""The worst first."""
GIVEN_UP = "StepGivenUp"
"""What a step failed with that was tried in vain: something outside was away for too long."""
_RULINGS = TypeAdapter(dict[str, Ruling])
_IN_ORDER = (turns.c.created_at, turns.c.session, turns.c.number)
_NAMES = ("workflow_uuid", "function_id", "function_name")
_TIMES = ("started_at_epoch_ms", "completed_at_epoch_ms")


@dataclass(frozen=True)
class KeptRun:
    """A run as the store knows it."""

    id: str
    repository: str
    """`owner/name`."""
    repository_id: int
    number: int
    """Its issue; 0 where there is none."""
    kind: str
    reference: str
    """The run's subject for people: `owner/name#n`, or a package in `owner/name`."""
    title: str
    """The title of the issue or pull request, in its author's words: untrusted."""
    asked_by: str
    state: str
    stage: str
    """The step at work, or the last one; empty before the first."""
    created_at: float
    updated_at: float
    answers: int
    usd: float
    outcome: Outcome | None
    severity: str = ""
    """The worst of the alerts that asked for it; empty: none did, or GitHub did not say."""
    worker: str = ""
    """That it was begun on last, or taken up by; empty: none yet."""


@dataclass(frozen=True)
class KeptTurn:
    """A turn as stored; a damaged part of it is missing."""

    session: str
    number: int
    stage: str
    kind: str
    content: list[Block] | None
    """None where the caller did not ask for it, or it is damaged."""
    usage: Usage
    usd: float
    seconds: float
    tree: str | None
    at: float
    """When the turn was complete, in unix seconds."""
    rulings: Mapping[str, Ruling] | None = None
    """By id of the call; None where it is not kept."""
    model: str = ""
    """Who gave the answer; empty where it is not kept."""


@dataclass(frozen=True)
class KeptStep:
    """One execution of a step, as the engine recorded it."""

    name: str
    """Like `stage/implement/2`; a repeated execution ends in `~1`."""
    started_at: float
    ended_at: float
    record: Json
    """The step's return value; None where it cannot be read."""


@dataclass(frozen=True)
class RunProgress:
    """How far a run is, to tell whether there is something new."""

    state: str
    updated: float
    """Unix seconds, as the next."""
    turn: float
    """When the newest turn was complete; 0 before the first."""

    @property
    def mark(self) -> str:
        """Return what is another one once there is something new."""
        return f"{self.turn:.3f}-{self.updated:.3f}"


class TurnMark(NamedTuple):
    """Where a turn is among those of its run."""

    stage: str
    at: float
    """Unix seconds."""
    tree: str | None


class History:
    """The runs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ids(self) -> list[str]:
        """Return the ids of all runs."""
        return list(await self._database.read(lambda c: c.scalars(select(runs.c.id)).all()))

    async def newest(
        self, most: int, *, states: Collection[str] = (), repository: str | None = None
    ) -> list[KeptRun]:
        """Return the newest runs; `repository` is `owner/name`, or the name alone.

        Runs that were merged into another run are returned only when `states` names their state.
        """
        query = _runs().order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(most)
        wanted_states = runs.c.state.in_(states) if states else runs.c.state != "covered"
        query = query.where(wanted_states)
        if repository is not None:
            name, wanted = func.lower(runs.c.repository), repository.lower()
            alone = name.endswith(f"/{wanted}", autoescape=True)
            query = query.where(name == wanted if "/" in wanted else alone)
        found = await self._database.read(lambda c: c.execute(query).all())
        return [_run(row) for row in found]

    async def run(self, run_id: str) -> KeptRun | None:
        """Return the run of exactly this id."""
        query = _runs().where(runs.c.id == run_id)
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        return _run(row) if row is not None else None

    async def list_runs(self, run_ids: Collection[str]) -> list[KeptRun]:
        """Return the runs of these ids that there are, in no order."""
        query = _runs().where(runs.c.id.in_(run_ids))
        return [_run(row) for row in await self._database.read(lambda c: c.execute(query).all())]

    async def progress(self, run_ids: Collection[str]) -> dict[str, RunProgress]:
        """Return how far these runs are; those that there are not are left out."""
        columns = (runs.c.id, runs.c.state, runs.c.updated_at)
        query = select(*columns, _NEWEST.scalar_subquery().label("turn"))
        wanted = query.where(runs.c.id.in_(run_ids))
        rows = await self._database.read(lambda c: c.execute(wanted).all())
        return {row.id: RunProgress(row.state, row.updated_at, row.turn or 0.0) for row in rows}

    async def progress_digest(self, run_ids: Collection[str]) -> tuple[Any, ...]:
        """Return numbers that are others as soon as one of these runs is further.

        Asked for four times a second: it takes a third of what `progress` takes.
        """
        asked = {"run_ids": list(run_ids)}
        return await self._database.read(lambda c: tuple(c.execute(_DIGEST, asked).one()))

    async def is_emptied(self, run_id: str) -> bool:
        """Return whether the run's texts were deleted by the retention."""
        query = select(runs.c.emptied_at).where(runs.c.id == run_id)
        return await self._database.read(lambda c: c.scalar(query)) is not None

    async def turn_marks(self, run_id: str) -> list[TurnMark]:
        """Return where all turns of the run are, in order, and nothing of what they say."""
        columns = (turns.c.stage, turns.c.created_at, turns.c.tree)
        query = select(*columns).where(turns.c.run_id == run_id).order_by(*_IN_ORDER)
        rows = await self._database.read(lambda c: c.execute(query).all())
        return [TurnMark(row.stage, row.created_at, row.tree) for row in rows]

    async def turns(
        self, run_id: str, *, content: bool, after: float = 0.0, stage: str = ""
    ) -> list[KeptTurn]:
        """Return the turns of all sessions of the run, in order.

        `after`: only turns that were complete later than that, in unix seconds. `stage`: only those
        of this stage occurrence.
        """
        columns = [each for each in turns.c if content or each.name != "content"]
        query = (
            select(*columns)
            .where(turns.c.run_id == run_id, turns.c.created_at > after)
            .where(turns.c.stage == stage if stage else true())
            .order_by(*_IN_ORDER)
        )
        found = await self._database.read(lambda c: c.execute(query).all())
        return [_turn(row, content=content) for row in found]

    async def approvals(self, run_id: str) -> list[StoredApproval]:
        """Return the approvals that the run asked for, oldest first."""
        return await StoredApprovals(self._database).of_run(run_id)

    async def steps(self, run_id: str) -> list[KeptStep]:
        """Return the run's steps, oldest first; empty once the engine has deleted them.

        Reads the engine's own table, whose columns another version of the engine may name
        otherwise.
        """

        def read(connection: Connection) -> list[KeptStep]:
            try:
                return _steps(connection, run_id)
            except DBAPIError:
                return []

        return await self._database.read(read)


_NEWEST = select(func.max(turns.c.created_at)).where(turns.c.run_id == runs.c.id)
_DIGEST = select(
    func.count(), func.sum(runs.c.updated_at), func.sum(_NEWEST.scalar_subquery())
).where(runs.c.id.in_(bindparam("run_ids", expanding=True)))


def _runs() -> Select[Any]:
    answers = (turns.c.run_id == runs.c.id, turns.c.kind == "answer")
    return select(
        *(runs.c[name] for name in _OF_A_RUN),
        select(func.count()).where(*answers).scalar_subquery().label("answers"),
        select(func.sum(turns.c.cost_usd)).where(*answers).scalar_subquery().label("usd"),
    )


def _run(row: Row[Any]) -> KeptRun:
    outcome = None
    with suppress(ValueError):  # a ValidationError is one, too
        outcome = Outcome.model_validate_json(row.outcome, extra="ignore") if row.outcome else None
    asked = _parse_json(row.request)
    return KeptRun(
        id=row.id,
        repository=row.repository,
        repository_id=row.repository_id,
        number=row.number,
        kind=row.kind,
        reference=_reference(row, asked),
        title=str(asked.get("title") or "") if isinstance(asked, dict) else "",
        asked_by=row.asked_by,
        state=row.state,
        stage=row.stage or "",
        created_at=row.created_at,
        updated_at=row.updated_at,
        answers=row.kept_answers or row.answers,
        usd=row.kept_usd or row.usd or 0.0,
        outcome=outcome,
        severity=_find_worst(asked),
        worker=row.holder or "",
    )


def _find_worst(asked: Json) -> str:
    """Return the worst severity of the alerts that a request names."""
    told = asked.get("told") if isinstance(asked, dict) else None
    named = [each.get("severity") for each in told or () if isinstance(each, dict)]
    return next((each for each in SEVERITIES if each in named), "")


def _reference(row: Row[Any], asked: Json) -> str:
    """Return what was asked for also where the request is one that this version cannot read."""
    with suppress(ValidationError):
        request = request_of(asked)
        if isinstance(request, RemediateAlert):
            return request.reference
    return f"{row.repository}#{row.number}" if row.number else str(row.repository)


def _turn(row: Row[Any], *, content: bool) -> KeptTurn:
    said = _parse_json(row.content) if content else None
    whole = isinstance(said, list) and all(isinstance(block, dict) for block in said)
    return KeptTurn(
        session=row.session,
        number=row.number,
        stage=row.stage,
        kind=row.kind,
        content=said if whole else None,
        usage=_parse_usage(row.usage),
        usd=row.cost_usd,
        seconds=row.seconds,
        tree=row.tree,
        at=row.created_at,
        rulings=None if row.rulings is None else parse_rulings(row.rulings),
        model=row.model or "",
    )


def parse_rulings(text: str | None) -> dict[str, Ruling]:
    """Return what the gate said to each call, as far as the row tells."""
    with suppress(ValidationError):
        return _RULINGS.validate_json(text or "{}", extra="ignore")
    return {}


@lru_cache(maxsize=1_000)  # two of three turns have none
def _parse_usage(text: str) -> Usage:
    with suppress(ValueError):
        return Usage.model_validate_json(text, extra="ignore")
    return Usage()


def _steps(connection: Connection, run_id: str) -> list[KeptStep]:
    schema = None if connection.dialect.name == "sqlite" else SCHEMA
    columns: list[ColumnClause[Any]] = [a_column(name) for name in (*_NAMES, *_TIMES)]
    columns.append(a_column("output", SealedText))
    steps = a_table("operation_outputs", *columns, schema=schema)
    if not inspect(connection).has_table(steps.name, schema=schema):
        return []
    query = select(steps).where(steps.c.workflow_uuid == run_id).order_by(steps.c.function_id)
    return [
        KeptStep(
            name=row.function_name,
            started_at=row.started_at_epoch_ms / 1000,
            ended_at=row.completed_at_epoch_ms / 1000,
            record=_value(_parse_json(row.output)),
        )
        for row in connection.execute(query)
        if row.started_at_epoch_ms and row.completed_at_epoch_ms
    ]


def _value(output: Json) -> Json:
    """Return what the step returned; why it did not is returned as an error."""
    if not isinstance(output, dict) or "value" in output:
        return output.get("value") if isinstance(output, dict) else None
    if "given_up" in output:
        return {"error": str(output["given_up"]), "error_kind": GIVEN_UP}
    return {"error": str(output.get("broken") or "")}


def _parse_json(text: str | None) -> Json:
    with suppress(ValueError, RecursionError):
        return json.loads(text or "")
    return None
