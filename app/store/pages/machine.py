"""What operators see of the machine: who works, what waits since when, what was missed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from app.store.metric_queries import count_missed, last_done, list_workers, oldest_by_state
from app.store.tables import ended_pulls, runs


@dataclass(frozen=True)
class MachineState:
    """How the fleet stands. Times are unix seconds."""

    runs: dict[str, int]
    """By state: queued, running, parked."""
    since: dict[str, float | None]
    """Since when the first run of each of these states has been in it."""
    workers: tuple[tuple[str, float, int], ...]
    """Name, when it was last seen, and how many runs it has; empty on SQLite."""
    sweeps: dict[str, float]
    """When each scheduled look was last through."""
    missed: dict[str, int]
    """Deliveries of GitHub's that never arrived: asked for again, and given up."""


@dataclass(frozen=True)
class MergeCounts:
    """How pull requests of a repository ended."""

    merged: int
    closed: int

    @property
    def rate(self) -> float | None:
        """Return the share that was merged, from 0 to 1; None where none has ended."""
        ended = self.merged + self.closed
        return self.merged / ended if ended else None


def read_machine(connection: Connection) -> MachineState:
    """Return how the fleet stands now."""
    states = ("queued", "running", "parked")
    query = select(runs.c.state, func.count()).where(runs.c.state.in_(states))
    found = {str(row[0]): int(row[1]) for row in connection.execute(query.group_by(runs.c.state))}
    return MachineState(
        runs=dict.fromkeys(states, 0) | found,
        since=oldest_by_state(connection),
        workers=tuple(list_workers(connection)),
        sweeps=last_done(connection),
        missed=count_missed(connection),
    )


def count_merges(connection: Connection, repository_id: int) -> MergeCounts:
    """Return how pull requests of this repository ended, as far as it is kept."""
    mine = ended_pulls.c.repository_id == repository_id
    query = select(ended_pulls.c.merged, func.count()).where(mine).group_by(ended_pulls.c.merged)
    found = {bool(row[0]): int(row[1]) for row in connection.execute(query)}
    return MergeCounts(merged=found.get(True, 0), closed=found.get(False, 0))
