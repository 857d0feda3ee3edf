"""The numbers behind the metrics, each read from an index or a small table."""

from __future__ import annotations

from typing import get_args

from sqlalchemy import Connection, func, or_, select

from agents.requests import Request
from app.store.alerts.remediations import STATES
from app.store.runs.lanes import LIVE
from app.store.tables import approvals, missed, remediations, runs, sweeps, turns, workers

KINDS: tuple[str, ...] = tuple(
    each.model_fields["kind"].default for each in get_args(get_args(Request)[0])
)
"""The kinds of requests."""


def count_by_outcome(connection: Connection) -> dict[tuple[str, str], int]:
    """Return how many runs ended, by kind of request and by outcome.

    Zero failures are counted too: a graph that compares with an hour ago needs the first value.
    """
    ended = (runs.c.ended_as.is_not(None), runs.c.ended_as != "")
    query = select(runs.c.kind, runs.c.ended_as, func.count()).where(*ended)
    rows = connection.execute(query.group_by(runs.c.kind, runs.c.ended_as))
    none = {(kind, "failed"): 0 for kind in KINDS}
    return none | {(str(row[0]), str(row[1])): int(row[2]) for row in rows}


def count_remediations(connection: Connection) -> dict[str, int]:
    """Return how many runs about alerts are in each state; `over`: without a pull request."""
    query = select(remediations.c.state, func.count()).group_by(remediations.c.state)
    found = {str(row[0]): int(row[1]) for row in connection.execute(query)}
    return dict.fromkeys(STATES, 0) | found


def oldest_by_state(connection: Connection) -> dict[str, float | None]:
    """Return since when the first run of each open state has been in it, in unix seconds.

    What is at work was last heard of when its last step began, or its model last answered.
    """
    queued = select(func.min(func.coalesce(runs.c.queued_at, runs.c.created_at)))
    parked = select(func.min(runs.c.updated_at)).where(runs.c.state == "parked")
    answered = select(func.max(turns.c.created_at)).where(turns.c.run_id == runs.c.id)
    heard = select(
        runs.c.updated_at.label("step"), answered.scalar_subquery().label("answer")
    ).where(runs.c.state == "running")
    at_work = [max(row.step, row.answer or 0.0) for row in connection.execute(heard)]
    return {
        "queued": connection.scalar(queued.where(runs.c.state == "queued")),
        "running": min(at_work, default=None),
        "parked": connection.scalar(parked),
    }


def list_workers(connection: Connection) -> list[tuple[str, float, int]]:
    """Return the workers, when each was last seen (unix seconds), and how many runs it has.

    One that has stopped in good order is left out; on SQLite there is no list of workers.
    """
    number = select(func.count()).where(runs.c.holder == workers.c.name, runs.c.state == "running")
    query = select(workers.c.name, workers.c.seen, number.scalar_subquery().label("number"))
    rows = connection.execute(query.where(workers.c.seen > 0))
    return [(row.name, row.seen, row.number) for row in rows]


def count_waiting(connection: Connection) -> int:
    """Return how many tool calls wait for a decision."""
    query = select(func.count()).select_from(approvals).where(approvals.c.state == "waiting")
    return connection.scalar(query) or 0


def spent_since(connection: Connection, moment: float) -> float:
    """Return the dollars of all runs since `moment` (unix seconds)."""
    recent = select(runs.c.id).where(or_(LIVE, runs.c.updated_at >= moment))
    since = (turns.c.run_id.in_(recent), turns.c.created_at >= moment)
    return connection.scalar(select(func.sum(turns.c.cost_usd)).where(*since)) or 0.0


def count_missed(connection: Connection) -> dict[str, int]:
    """Return how many deliveries never arrived: those asked for again, and those given up."""
    query = select(missed.c.state, func.count()).where(missed.c.state.in_(("failed", "gone")))
    rows = connection.execute(query.group_by(missed.c.state))
    found = {str(row[0]): int(row[1]) for row in rows}
    return {state: found.get(state, 0) for state in ("failed", "gone")}


def last_done(connection: Connection) -> dict[str, float]:
    """Return when each scheduled pass last ended, in unix seconds."""
    query = select(sweeps.c.name, sweeps.c.done_at).where(sweeps.c.done_at > 0)
    return {str(row[0]): float(row[1]) for row in connection.execute(query)}
