"""How long one run takes among many of another installation: SQLite, stages that sleep.

python tests/bench/fairness.py [--crowd N] [--places N] [--seconds S]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from sqlalchemy import text

from app.runs.engine import Engine
from app.runs.queue import RunQueue
from app.store.database import Database
from app.store.runs import RunPlaces, Runs
from tests.fakes.requests import build_resolve_issue

CROWD, ALONE = 1, 2
"""Ids of installations."""
KNOWN = text(
    "INSERT INTO installations (id, account_id, account, url, permissions, since, synced_at)"
    " VALUES (:id, :id, 'octo', '', '{}', 0, 0)"
)
END = text("UPDATE runs SET state = 'done', ended_as = 'comment', updated_at = :at WHERE id = :id")


async def measure(folder: Path, crowd: int, places: int, seconds: float) -> tuple[float, float]:
    """Return how many seconds the single run took, and the crowd."""
    url = f"sqlite:///{folder / 'fettle.db'}"
    database = Database(url)
    database.migrate()
    for each in (CROWD, ALONE):
        await database.write(lambda c, n=each: c.execute(KNOWN, {"id": n}))
    engine = Engine(url, executor="bench", put_off=Runs(database).put_off)
    queue = RunQueue(database, engine, RunPlaces(database, "bench", places=places))
    ended: dict[str, float] = {}

    async def conduct(run_id, _request, steps):
        async def work():
            await asyncio.sleep(seconds)

        for stage in ("a", "b", "c"):
            await steps.step(f"stage/{stage}/1", work)
        ended[run_id] = time.time()
        values = {"id": run_id, "at": ended[run_id]}
        await database.write(lambda c: c.execute(END, values))

    await engine.launch(conduct, freed=queue.ring)
    queueing = asyncio.create_task(queue.run())
    wish = build_resolve_issue()
    for number in range(crowd):
        about = {"number": number + 10, "installation_id": CROWD}
        await queue.submit(f"{number:04}", wish.model_copy(update=about))
    await asyncio.sleep(seconds)  # the crowd has what it can get
    began = time.time()
    await queue.submit("alone", wish.model_copy(update={"installation_id": ALONE}))
    while "alone" not in ended:
        await asyncio.sleep(0.01)
    queueing.cancel()
    await engine.drain(0)
    database.close()
    return ended["alone"] - began, len(ended) - 1


async def compare(crowd: int, places: int, seconds: float) -> None:
    """Measure with and without the crowd, and print both."""
    took = {}
    for number in (0, crowd):
        with tempfile.TemporaryDirectory() as folder:
            took[number], before = await measure(Path(folder), number, places, seconds)
    print(f"one run of three stages of {seconds:g} s each, {places} places")
    print(f"  alone                      {took[0]:8.2f} s")
    print(
        f"  among {crowd} of another        {took[crowd]:8.2f} s, {before} of those ended before it"
    )
    print(f"  times as long              {took[crowd] / took[0]:8.2f}")


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crowd", type=int, default=60)
    parser.add_argument("--places", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    asyncio.run(compare(given.crowd, given.places, given.seconds))


if __name__ == "__main__":
    main()
