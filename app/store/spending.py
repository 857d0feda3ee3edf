"""What answers of models cost: by day and repository, and the runs that cost most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from sqlalchemy import Connection, Float, Integer, cast, func, or_, select

from app.store.tables import remediations, runs, turns

DAY = 86_400
MOST = 10
PACE_DAYS = 7


@dataclass(frozen=True)
class DaySpending:
    """The dollars of one repository's runs in one day (UTC)."""

    day: str
    repository: str
    usd: float
    answers: int


@dataclass(frozen=True)
class StageSpending:
    """The dollars of one stage, in all runs."""

    stage: str
    usd: float
    answers: int


@dataclass(frozen=True)
class ModelSpending:
    """The dollars of one model's answers, in all runs."""

    model: str
    """Empty where it is not kept."""
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


def sum_by_stage(connection: Connection, since: float) -> list[StageSpending]:
    """Return the dollars since then (unix seconds), the dearest stage first."""
    usd = cast(func.sum(turns.c.cost_usd), Float).label("usd")
    recent = (turns.c.created_at >= since, turns.c.kind == "answer")
    query = select(turns.c.stage, usd, func.count().label("answers")).where(*recent)
    found: dict[str, StageSpending] = {}
    for row in connection.execute(query.group_by(turns.c.stage)):
        stage = row.stage.partition("/")[0]
        before = found.get(stage, StageSpending(stage, 0.0, 0))
        usd_so_far = before.usd + (row.usd or 0.0)
        found[stage] = StageSpending(stage, usd_so_far, before.answers + row.answers)
    return sorted(found.values(), key=lambda each: -each.usd)


def sum_by_model(connection: Connection, since: float) -> list[ModelSpending]:
    """Return the dollars since then (unix seconds), the dearest model first."""
    usd = cast(func.sum(turns.c.cost_usd), Float).label("usd")
    recent = (turns.c.created_at >= since, turns.c.kind == "answer")
    query = select(turns.c.model, usd, func.count().label("answers")).where(*recent)
    rows = connection.execute(query.group_by(turns.c.model).order_by(usd.desc()))
    return [ModelSpending(row.model or "", row.usd or 0.0, row.answers) for row in rows]


def forecast(days: Iterable[DaySpending], today: date) -> tuple[float | None, int]:
    """Return the dollars of 30 days at the pace of the last full days, and how many those are.

    Seven days are looked at, or as many as there are since the first dollar; None before the end
    of that day.
    """
    ago = {each: (today - date.fromisoformat(each.day)).days for each in days}
    full = min(max(ago.values(), default=0), PACE_DAYS)
    if full < 1:
        return None, 0
    spent = sum(each.usd for each, age in ago.items() if 1 <= age <= full)
    return 30 * spent / full, full


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


def sum_lanes(connection: Connection, run_id: str, lane: str) -> tuple[float, int, int]:
    """Return dollars, answers and the number of runs that had any.

    Counted are the runs of this lane, a pull request's, and of the lane that the run is in, which
    may be forgotten; but for those that opened another pull request about the same package.
    """
    answers = (turns.c.run_id == runs.c.id, turns.c.kind == "answer")
    usd = select(func.sum(turns.c.cost_usd)).where(*answers).scalar_subquery()
    count = select(func.count()).where(*answers).scalar_subquery()
    of_run = select(runs.c.lane).where(runs.c.id == run_id).scalar_subquery()
    pulls = (0, int(lane.rpartition("#")[2]))
    others = select(remediations.c.run_id).where(remediations.c.number.not_in(pulls))
    led = (runs.c.lane == of_run) & runs.c.id.not_in(others.where(remediations.c.lane == of_run))
    query = select(
        func.coalesce(runs.c.kept_usd, usd, 0.0).label("usd"),
        func.coalesce(runs.c.kept_answers, count).label("answers"),
    ).where(or_(runs.c.lane == lane, led))
    rows = [row for row in connection.execute(query) if row.answers]
    return sum(row.usd for row in rows), sum(row.answers for row in rows), len(rows)
