"""What answers of models cost: by day and repository, and the runs that cost most."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, Float, Integer, cast, func, select

from app.store.tables import runs, turns

DAY = 86_400
MOST = 10


@dataclass(frozen=True)
class DaySpending:
    """The dollars of one repository's runs in one day (UTC)."""

    day: str
    repository: str
    usd: float
    answers: int


@dataclass(frozen=True)
class RunSpending:
    """The dollars of one run."""

    id: str
    repository: str
    number: int
    state: str
    usd: float


def sum_by_day(connection: Connection, since: float) -> list[DaySpending]:
    """Return the dollars since then (unix seconds), the newest day first."""
    day = cast(func.floor(turns.c.created_at / DAY), Integer).label("day")
    usd = func.sum(turns.c.cost_usd).label("usd")
    query = (
        select(day, runs.c.repository, usd, func.count().label("answers"))
        .join_from(turns, runs)
        .where(turns.c.created_at >= since, turns.c.kind == "answer")
        .group_by(day, runs.c.repository)
        .order_by(day.desc(), usd.desc())
    )
    return [
        DaySpending(
            f"{datetime.fromtimestamp(row.day * DAY, UTC):%Y-%m-%d}",
            row.repository,
            row.usd or 0.0,
            row.answers,
        )
        for row in connection.execute(query)
    ]


def list_dearest(connection: Connection, since: float) -> list[RunSpending]:
    """Return the runs that cost most since then (unix seconds)."""
    usd = cast(func.sum(turns.c.cost_usd), Float).label("usd")
    query = (
        select(runs.c.id, runs.c.repository, runs.c.number, runs.c.state, usd)
        .join_from(turns, runs)
        .where(turns.c.created_at >= since, turns.c.kind == "answer")
        .group_by(runs.c.id, runs.c.repository, runs.c.number, runs.c.state)
        .order_by(usd.desc())
        .limit(MOST)
    )
    return [
        RunSpending(row.id, row.repository, row.number, row.state, row.usd)
        for row in connection.execute(query)
    ]
