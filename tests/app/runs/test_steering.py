"""The steering of one run: a cancel is heard within a moment, whoever wrote it."""

from __future__ import annotations

import asyncio

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


class Counted:
    """Steers that count the answers that they gave; `failing` is raised first."""

    def __init__(self, failing=(), stored=None):
        self.asked, self.failing, self.cancel, self.stored = 0, list(failing), None, stored

    async def cancel_of(self, run_id):
        found = await self.stored.cancel_of(run_id) if self.stored else self.cancel
        self.asked += 1
        if self.failing:
            raise self.failing.pop(0)
        return found


def wait_for_cancel(steers, signals, run_id):
    """Have somebody wait who never looks without being rung for."""
    steering = RunSteering(steers, signals, run_id, look_seconds=10 * PATIENCE, retry_seconds=0.01)
    return asyncio.create_task(steering.wait_for_cancel())


async def wait_until(true):
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.005)


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


async def test_what_another_process_cancels_rings_here(store, steers):
    signals, woken, counted = SteerSignals(), [], Counted(stored=steers)
    waking = WakeupPoller(StoredApprovals(store), woken.append, steers=steers, ring=signals.ring)
    looking = asyncio.create_task(waking.run())
    heard, other = (wait_for_cancel(counted, signals, run_id) for run_id in ("run-1", "run-2"))
    await wait_until(lambda: counted.asked == 2)
    elsewhere = Database(str(store.engine.url))
    await StoredSteers(elsewhere).insert("run-1", "k1", kind="cancel", **BOB)
    async with asyncio.timeout(PATIENCE):
        assert (await heard).via == "comment"
    assert "run-1" in woken
    assert not other.done()
    for each in (looking, other):
        each.cancel()
    await asyncio.wait([looking, other])
    elsewhere.close()


async def test_other_steers_do_not_cancel(steers):
    signals, counted = SteerSignals(), Counted(stored=steers)
    heard = wait_for_cancel(counted, signals, "run-1")
    await wait_until(lambda: counted.asked == 1)
    await steers.insert("run-1", "k1", kind="go", **BOB)
    signals.ring("run-1")
    await wait_until(lambda: counted.asked == 2)
    assert not heard.done()
    heard.cancel()
    await asyncio.wait([heard])


async def test_nobody_who_waits_polls():
    counted, signals = Counted(), SteerSignals()
    waiting = [wait_for_cancel(counted, signals, f"run-{number}") for number in range(50)]
    await wait_until(lambda: counted.asked == 50)
    for number in range(51, 60):
        signals.ring("run-7")
        signals.ring("run-unknown")
        await wait_until(lambda: counted.asked >= number)  # noqa: B023 - called before the next
        assert counted.asked == number, "who was not rung for has looked"
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert signals._waiting == {}


async def test_a_database_that_is_away_only_delays_it():
    counted = Counted([TransientError("The database is away")] * 3)
    signals = SteerSignals()
    heard = wait_for_cancel(counted, signals, "run-1")
    await wait_until(lambda: counted.asked == 4)
    assert not heard.done()
    counted.cancel = "bob"
    signals.ring("run-1")
    async with asyncio.timeout(PATIENCE):
        assert await heard == "bob"
    assert counted.asked == 5


async def test_a_bell_that_never_rings_is_made_up_for():
    counted = Counted()
    steering = RunSteering(counted, SteerSignals(), "run-1", look_seconds=0.05)
    heard = asyncio.create_task(steering.wait_for_cancel())
    await wait_until(lambda: counted.asked)
    counted.cancel = "bob"
    async with asyncio.timeout(PATIENCE):
        assert await heard == "bob"
