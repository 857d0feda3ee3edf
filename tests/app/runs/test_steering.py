"""The steering of one run: a cancel is heard within a moment, whoever wrote it."""

from __future__ import annotations

import asyncio
import time

import pytest

from agents.errors import TransientError
from app.runs.steering import RunSteering, SteerSignals
from app.runs.wakeup import WakeupPoller
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from tests.app.store.runs.test_steers import BOB, wish
from tests.patience import PATIENCE


@pytest.fixture
async def store(sqlite_url):
    database = Database(sqlite_url)
    for run_id in ("run-1", "run-2"):
        await Runs(database).create(run_id, wish())
    yield database
    database.close()


@pytest.fixture
def steers(store):
    return StoredSteers(store)


async def test_what_was_said_is_returned(steers):
    await steers.insert("run-1", "k1", kind="go", words="on", **BOB)
    [steer] = await RunSteering(steers, SteerSignals(), "run-1").list_after()
    assert steer.words == "on"


async def test_a_cancel_that_was_before_is_heard_at_once(steers):
    await steers.insert("run-1", "k1", kind="cancel", **BOB)
    async with asyncio.timeout(PATIENCE):
        assert (await RunSteering(steers, SteerSignals(), "run-1").wait_for_cancel()).by == "bob"


async def test_another_process_cancels_and_it_is_heard_within_a_second_or_so(store, steers):
    bells, woken = SteerSignals(), []
    waking = WakeupPoller(StoredApprovals(store), woken.append, steers=steers, ring=bells.ring)
    looking = asyncio.create_task(waking.run())
    heard = asyncio.create_task(RunSteering(steers, bells, "run-1").wait_for_cancel())
    other = asyncio.create_task(RunSteering(steers, bells, "run-2").wait_for_cancel())
    await asyncio.sleep(0.2)
    elsewhere = Database(str(store.engine.url))
    began = time.monotonic()
    await StoredSteers(elsewhere).insert("run-1", "k1", kind="cancel", **BOB)
    async with asyncio.timeout(PATIENCE):
        assert (await heard).via == "comment"
    assert time.monotonic() - began < 60  # a second, and what a busy machine adds to it
    assert "run-1" in woken
    assert not other.done()
    for each in (looking, other):
        each.cancel()
    await asyncio.wait([looking, other])
    elsewhere.close()


async def test_other_steers_do_not_cancel(steers):
    bells = SteerSignals()
    heard = asyncio.create_task(RunSteering(steers, bells, "run-1").wait_for_cancel())
    await steers.insert("run-1", "k1", kind="go", **BOB)
    bells.ring("run-1")
    await asyncio.sleep(0.1)
    assert not heard.done()
    heard.cancel()
    await asyncio.wait([heard])


class Counted:
    """Steers that count how often they are asked; `failing` is raised first."""

    def __init__(self, failing=()):
        self.asked, self.failing, self.cancel = 0, list(failing), None

    async def cancel_of(self, run_id):
        self.asked += 1
        if self.failing:
            raise self.failing.pop(0)
        return self.cancel


async def test_nobody_who_waits_polls():
    counted, bells = Counted(), SteerSignals()
    waiting = [
        asyncio.create_task(RunSteering(counted, bells, f"run-{number}").wait_for_cancel())
        for number in range(50)
    ]
    await asyncio.sleep(0.3)
    assert counted.asked == 50
    bells.ring("run-7")
    bells.ring("run-unknown")
    await asyncio.sleep(0.05)
    assert counted.asked == 51
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert bells._waiting == {}


async def test_a_database_that_is_away_only_delays_it():
    counted = Counted([TransientError("The database is away")] * 3)
    steering = RunSteering(counted, SteerSignals(), "run-1", retry_seconds=0.01)
    heard = asyncio.create_task(steering.wait_for_cancel())
    await asyncio.sleep(0.2)
    assert counted.asked == 4
    assert not heard.done()
    heard.cancel()
    await asyncio.wait([heard])


async def test_a_bell_that_never_rings_is_made_up_for():
    counted = Counted()
    steering = RunSteering(counted, SteerSignals(), "run-1", look_seconds=0.05)
    heard = asyncio.create_task(steering.wait_for_cancel())
    await asyncio.sleep(0.02)
    counted.cancel = "bob"
    async with asyncio.timeout(PATIENCE):
        assert await heard == "bob"
