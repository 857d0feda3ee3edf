"""How long runs wait for a place: runs arrive by chance, and are taken as the server takes them.

    python deploy/simulate_queue.py 50 100 190 --workers 10 --minutes 12 --installations 50

The numbers are runs an hour, all installations together. Half of them are of one installation in
ten. Each line has the share of time in which places are taken, and how many minutes the half, and
95 of 100, wait at most: of all, and of those whose installation asks for few.
"""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from app.store.runs.places import QueuedRun, order_fairly

HOURS = 200.0
SPREAD = 0.8
"""Of the logarithm of a run's length: one in twenty takes three times as long as the middle one."""


@dataclass(frozen=True)
class Fleet:
    """What there is, and what a run takes."""

    workers: int
    places: int
    minutes: float
    """How long a run is at work, on average."""
    installations: int

    @property
    def capacity(self) -> int:
        """Return how many runs are at work at once."""
        return self.workers * self.places


def simulate(fleet: Fleet, per_hour: float, *, hours: float = HOURS, seed: int = 1) -> str:
    """Return one line of the table, for this many runs an hour."""
    dice = random.Random(seed)
    busy_ones = max(1, fleet.installations // 10)
    at, number, arrivals = 0.0, 0, []
    while (at := at + dice.expovariate(per_hour / 60)) < hours * 60:
        many = dice.random() < 0.5 or busy_ones == fleet.installations
        which = (
            dice.randrange(busy_ones) if many else dice.randrange(busy_ones, fleet.installations)
        )
        arrivals.append(QueuedRun(id=f"{number:08}", installation_id=which, since=at))
        number += 1
    waits = _run(fleet, arrivals, dice)
    few = [wait for run, wait in waits if run.installation_id >= busy_ones]
    load = per_hour * fleet.minutes / 60 / fleet.capacity
    every = [wait for _, wait in waits]
    cells = [f"{per_hour:8g}", f"{load:6.0%}", *_describe(every), *_describe(few)]
    return " | ".join(cells)


def _run(
    fleet: Fleet, arrivals: list[QueuedRun], dice: random.Random
) -> list[tuple[QueuedRun, float]]:
    """Return each run and how many minutes it waited."""
    middle = fleet.minutes / statistics.fmean(dice.lognormvariate(0, SPREAD) for _ in range(10_000))
    ends: list[tuple[float, int]] = []
    at_work: Counter[int] = Counter()
    queue: list[QueuedRun] = []
    waits: list[tuple[QueuedRun, float]] = []
    coming = iter([*arrivals, None])
    following = next(coming)
    while following is not None or queue:
        if following is not None and (not ends or following.since <= ends[0][0]):
            now = following.since
            queue.append(following)
            following = next(coming)
        else:
            now, ended = heapq.heappop(ends)
            at_work[ended] -= 1
        while queue and len(ends) < fleet.capacity:
            taken = order_fairly(queue, at_work, now)[0]
            queue.remove(taken)
            waits.append((taken, now - taken.since))
            at_work[taken.installation_id] += 1
            length = middle * dice.lognormvariate(0, SPREAD)
            heapq.heappush(ends, (now + length, taken.installation_id))
    return waits


def _describe(waits: list[float]) -> tuple[str, str]:
    cuts = statistics.quantiles(waits, n=20) if len(waits) > 1 else [0.0] * 19
    return f"{cuts[9]:8.1f}", f"{cuts[18]:8.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("loads", type=float, nargs="+", help="runs an hour")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--places", type=int, default=4, help="FETTLE_STAGES_AT_ONCE")
    parser.add_argument("--minutes", type=float, default=12, help="of a run, on average")
    parser.add_argument("--installations", type=int, default=20)
    parser.add_argument("--hours", type=float, default=HOURS, help="that are simulated")
    given = parser.parse_args()
    fleet = Fleet(given.workers, given.places, given.minutes, given.installations)
    head = "  runs/h |   busy |  all 50% |      95% |  few 50% |      95%   (minutes of waiting)"
    lines = (simulate(fleet, load, hours=given.hours) for load in given.loads)
    for line in (head, *lines):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
