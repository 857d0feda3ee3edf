"""Three workers on one PostgreSQL, disturbed for a quarter of an hour: `make soak`.

    SOAK_MINUTES=15 SOAK_RUNS=200 SOAK_PAUSE=20 SOAK_SEED=1 make soak

Again and again one of them is killed, stopped, or loses its connections as in a restart of the
database; half the time its folder is gone as well. At the end each issue has the pull request that
an undisturbed run makes, once, and no more answers were asked for twice than were cut off.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter

from sqlalchemy import func, select

from agents.errors import TransientError
from app.store.tables import runs
from tests.flows.conftest import ISSUE, make_place, packages, rest_referee, webhook_referee
from tests.flows.durability.test_three_workers import (
    NAMES,
    lose_folders,
    restart_database,
    several,
)

__all__ = ["make_place", "packages", "rest_referee", "webhook_referee"]  # fixtures of the flows

MINUTES = float(os.environ.get("SOAK_MINUTES", "15"))
RUNS = int(os.environ.get("SOAK_RUNS", "200"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
PAUSE = float(os.environ.get("SOAK_PAUSE", "20"))
"""Seconds from one disturbance to the next, on average."""
PLACES = 4
MOST_LINES = 60
LARGE_ORGANISATION = 12_500
"""Requests an hour: a run takes 51, and 200 of them more than the 5,000 of a small one.

https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""


async def test_whatever_happens_each_run_ends_as_if_nothing_had(make_place, postgresql):
    async with make_place() as place:
        await place.label()
        await place.ends("pull_request")
        expected = outcome_of(place.pulls()[0])

    dice = random.Random(SEED)
    async with several(make_place, postgresql, NAMES) as (place, servers):
        place.github.limits.hourly = LARGE_ORGANISATION
        issues = [await place.file(f"{ISSUE[0]}, {n}", ISSUE[1]) for n in range(RUNS)]
        disturbances = Counter()
        disturbing = asyncio.create_task(
            disturb(place, postgresql, servers, dice, counted=disturbances)
        )
        for issue in issues:
            await place.label(issue=issue)
            await asyncio.sleep(dice.expovariate(RUNS / (MINUTES * 40)))
        states = await wait_for_the_last(place)
        disturbing.cancel()
        await asyncio.gather(disturbing, return_exceptions=True)

        if states != {"done": RUNS}:
            await tell_failures(place, servers)
        assert states == {"done": RUNS}
        pulls = place.pulls()
        assert len(pulls) == RUNS
        assert {outcome_of(pull) for pull in pulls} == {expected}
        answered = Counter(each.prefix for each in place.model.requests if each.answered)
        repeated = answered.total() - len(answered)  # those that came as their worker was lost
        print(f"{RUNS} runs, {dict(disturbances)}; {repeated} of {answered.total()} answers twice")
        assert repeated <= disturbances.total() * PLACES * len(NAMES)


def outcome_of(pull):
    return pull.issue.title, pull.draft


async def tell_failures(place, servers):
    """Print what the workers said of each run that is not done."""
    query = select(runs.c.id).where(runs.c.state != "done")
    for run_id in await place.database().read(lambda c: list(c.scalars(query))):
        for name, server in servers.items():
            lines = server.log.read_text().splitlines()
            last = [n for n, line in enumerate(lines) if run_id in line and "[error" in line]
            for n in last:
                print(name, "\n".join(lines[n : n + MOST_LINES]))


async def disturb(place, postgresql, servers, dice, *, counted):
    """Take a worker away and bring it back, until cancelled."""
    while True:
        await asyncio.sleep(dice.expovariate(1 / PAUSE))
        server = servers[dice.choice(NAMES)]
        how = dice.choice(("kill", "kill", "stop", "stop", "database"))
        counted[how] += 1
        if how == "database":
            await restart_database(place, postgresql, servers)
            continue
        server.running = False
        await getattr(server, how)()
        if dice.random() < 0.5:
            lose_folders(server)
        await server.start(place.app)


async def wait_for_the_last(place):
    """Return how many runs ended in which state, once none is under way."""
    query = select(runs.c.state, func.count()).group_by(runs.c.state)
    last, seen = None, 0
    while seen < MINUTES * 60:
        try:
            found = await place.database().read(lambda c: dict(c.execute(query).all()))
        except TransientError:  # a restart of the database ends this connection as well
            found = last
        if found and not found.keys() & {"queued", "running", "parked"}:
            return found
        seen = 0 if found != last else seen + 1
        last = found
        await asyncio.sleep(1)
    raise AssertionError(f"nothing moves any more: {last}")
