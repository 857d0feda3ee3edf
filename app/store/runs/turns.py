"""The journal: the messages of each session of a run, turn by turn."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from datetime import UTC, datetime

from sqlalchemy import Connection, Select, func, insert, or_, select

from agents.ports import Turn, Usage
from app.store.database import Database
from app.store.runs.history import parse_rulings
from app.store.runs.runs import OPEN
from app.store.tables import runs, turns

LONGEST_MODEL = 120


class StoredJournal:
    """The port `Journal` of one run, in the table `turns`.

    A turn is stored as the exact JSON that was sent or received: the prompt cache and the
    signatures of thinking blocks need the same bytes again.

    https://docs.claude.com/en/docs/build-with-claude/prompt-caching
    """

    def __init__(self, database: Database, run_id: str) -> None:
        self._database = database
        self._run_id = run_id
        self._spent: tuple[Usage, float, int] | None = None
        """The run's total, read once: only this process adds to it meanwhile."""

    async def turns(self, session: str) -> list[Turn]:
        """Return the turns of a session, oldest first."""
        query = (
            select(turns)
            .where(turns.c.run_id == self._run_id, turns.c.session == session)
            .order_by(turns.c.number)
        )
        rows = await self._database.read(lambda c: c.execute(query).mappings().all())
        return [
            Turn(
                kind=row["kind"],
                stage=row["stage"],
                content=json.loads(row["content"]),
                stop_reason=row["stop_reason"],
                usage=Usage.model_validate_json(row["usage"], extra="ignore"),
                cost_usd=row["cost_usd"],
                seconds=row["seconds"],
                tree=row["tree"],
                rulings=parse_rulings(row["rulings"]),
                model=row["model"] or "",
            )
            for row in rows
        ]

    async def append(self, session: str, number: int, turn: Turn) -> None:
        """Store one turn; the primary key refuses a number that is taken already."""
        row = {
            "run_id": self._run_id,
            "session": session,
            "number": number,
            "stage": turn.stage,
            "kind": turn.kind,
            "content": json.dumps(turn.content),  # ASCII: no database refuses half a character
            "stop_reason": turn.stop_reason,
            "usage": turn.usage.model_dump_json(),
            "cost_usd": turn.cost_usd,
            "seconds": turn.seconds,
            "tree": turn.tree,
            "created_at": time.time(),
            "rulings": json.dumps({name: asdict(each) for name, each in turn.rulings.items()})
            if turn.kind == "results"
            else None,
            "model": turn.model[:LONGEST_MODEL] or None,
        }
        await self._database.write(lambda c: c.execute(insert(turns), row))
        if self._spent is not None and turn.kind == "answer":
            usage, usd, answers = self._spent
            self._spent = (usage + turn.usage, usd + turn.cost_usd, answers + 1)

    async def sum_usage(self) -> tuple[Usage, float, int]:
        """Return tokens, dollars and model answers of the whole run so far."""
        if self._spent is None:
            self._spent = await self._database.read(self._sum)
        return self._spent

    async def spent_today(self) -> float:
        """Return the dollars of all runs on this repository since midnight UTC."""
        query = spent_since(self._run_id, find_midnight())
        return await self._database.read(lambda c: c.scalar(query)) or 0.0

    def _sum(self, connection: Connection) -> tuple[Usage, float, int]:
        answers = (turns.c.run_id == self._run_id, turns.c.kind == "answer")
        rows = connection.execute(select(turns.c.usage, turns.c.cost_usd).where(*answers)).all()
        each = [Usage.model_validate_json(row.usage, extra="ignore") for row in rows]
        own = sum(1 for usage in each if usage != Usage())  # others were taken from an earlier run
        return sum(each, Usage()), sum(row.cost_usd for row in rows), own


def spent_since(run_id: str, moment: float) -> Select[tuple[float | None]]:
    """Return the query for the dollars of all runs on the run's repository since `moment`.

    `moment` is in unix seconds. Runs that ended before it have no later turn, so indexes alone
    serve the query.
    """
    repository = select(runs.c.repository_id).where(runs.c.id == run_id).scalar_subquery()
    recent = or_(runs.c.state.in_(OPEN), runs.c.updated_at >= moment)
    theirs = select(runs.c.id).where(runs.c.repository_id == repository, recent)
    since = (turns.c.run_id.in_(theirs), turns.c.created_at >= moment)
    return select(func.sum(turns.c.cost_usd)).where(*since)


def find_midnight() -> float:
    """Return when the present day began in UTC, in unix seconds."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


async def recorded_sessions(
    database: Database, run_id: str | None = None, *, most: int = 500
) -> list[tuple[str, str]]:
    """Return run and session of each conversation, the newest runs first.

    `run_id` restricts the list to one run.
    """
    query = (
        select(turns.c.run_id, turns.c.session)
        .join(runs, runs.c.id == turns.c.run_id)
        .group_by(turns.c.run_id, turns.c.session, runs.c.created_at)
        .order_by(runs.c.created_at.desc(), turns.c.run_id, turns.c.session)
        .limit(most)
    )
    if run_id is not None:
        query = query.where(turns.c.run_id == run_id)
    rows = await database.read(lambda c: c.execute(query).all())
    return [(row.run_id, row.session) for row in rows]
