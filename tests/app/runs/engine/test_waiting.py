"""A run that waits for people holds no place, and goes on once it is decided."""

from __future__ import annotations

import asyncio
from collections import Counter

from agents.errors import TransientError
from app.runs.durable_steps import StepBroken
from tests.app.runs.engine.conftest import NEVER, Recorder, change, patience, wait_until


class Deciding:
    """Conducts runs of two stages with a wait between, which is over once it is decided."""

    def __init__(self):
        self.decided = set()
        self.looks = Counter()
        self.stages = []
        self.failing = []

    async def __call__(self, run_id, request, steps):
        async def stage(number):
            self.stages.append((run_id, number))

        async def is_over():
            self.looks[run_id] += 1
            if self.failing:
                raise self.failing.pop()
            return run_id in self.decided

        await steps.step("stage/a/1", lambda: stage(1))
        try:
            await steps.wait("approval/a/1/1", is_over)
        except StepBroken as error:
            return f"StepBroken: {error}"
        await steps.step("stage/a/1~1", lambda: stage(2))
        return run_id


async def test_a_waiting_run_holds_no_place_and_goes_on_when_it_is_woken(start, store_url):
    deciding = Deciding()
    engine = await start(store_url, deciding)
    for run_id in ("1", "2", "3"):
        await engine.enqueue(run_id, run_id, {})
    await wait_until(lambda: len(engine.pool.waiting) == 3)
    assert engine.pool.working == set()
    deciding.decided.add("2")
    engine.wake("2")
    engine.wake("unknown")
    async with patience():
        assert await engine.result("2") == "2"
    assert set(engine.pool.waiting) == {"1", "3"}
    assert deciding.looks == {"1": 1, "2": 2, "3": 1}


async def test_a_run_that_is_woken_too_early_goes_on_waiting(start, sqlite_url):
    deciding = Deciding()
    engine = await start(sqlite_url, deciding)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: engine.pool.waiting)
    engine.wake("1")
    await wait_until(lambda: deciding.looks["1"] == 2)
    await asyncio.sleep(0.1)
    assert set(engine.pool.waiting) == {"1"}


async def test_nobody_has_to_wake_a_run_that_looks_now_and_then(start, sqlite_url):
    deciding = Deciding()
    engine = await start(sqlite_url, deciding, look_seconds=0.1)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: deciding.looks["1"] > 2)
    deciding.decided.add("1")
    async with patience():
        assert await engine.result("1") == "1"


async def test_a_drain_leaves_waiting_runs_as_if_nothing_had_been(start, store_url):
    deciding = Deciding()
    engine = await start(store_url, deciding)
    await engine.enqueue("1", "lane", {})
    await engine.enqueue("2", "lane", {})
    for _ in range(3):
        await wait_until(engine.pool.waiting.keys().__len__)
        async with patience():
            await engine.drain(NEVER)
        engine = await start(store_url, deciding)
    await wait_until(lambda: engine.pool.waiting)
    deciding.decided |= {"1", "2"}
    engine.wake("1")
    async with patience():
        assert await engine.result("1") == "1"
        assert await engine.result("2") == "2"
    assert deciding.stages == [("1", 1), ("1", 2), ("2", 1), ("2", 2)]


async def test_what_was_decided_once_is_not_asked_again(start, store_url):
    deciding = Deciding()
    deciding.decided.add("1")
    second = Recorder("stage/b/1", seconds=60)

    async def conduct(run_id, request, steps):
        await deciding(run_id, request, steps)
        return await second(run_id, {"lane": "a"}, steps)

    engine = await start(store_url, conduct)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: second.began)
    await engine.drain(0)
    deciding.decided.clear()
    second.seconds = 0
    engine = await start(store_url, conduct)
    async with patience():
        assert await engine.result("1") == "1"
    assert deciding.looks == {"1": 1}
    assert deciding.stages == [("1", 1), ("1", 2)]


async def test_a_decision_during_the_shutdown_is_found_after_it(start, store_url):
    deciding = Deciding()
    engine = await start(store_url, deciding)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: engine.pool.waiting)
    engine.pool.gate.clear()
    deciding.decided.add("1")
    engine.wake("1")
    await engine.drain(1)
    assert deciding.stages == [("1", 1)]
    engine = await start(store_url, deciding)
    async with patience():
        assert await engine.result("1") == "1"


async def test_a_database_that_is_away_ends_no_waiting(start, sqlite_url):
    deciding = Deciding()
    deciding.failing = [TransientError("The database is away")]
    engine = await start(sqlite_url, deciding)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: deciding.looks["1"] == 1)
    deciding.decided.add("1")
    engine.wake("1")
    async with patience():
        assert await engine.result("1") == "1"


async def test_a_mistake_of_ours_while_waiting_ends_it_and_frees_the_lane(start, sqlite_url):
    deciding = Deciding()
    deciding.failing = [KeyError("secret")]
    deciding.decided.add("2")
    engine = await start(sqlite_url, deciding)
    await engine.enqueue("1", "lane", {})
    await engine.enqueue("2", "lane", {})
    async with patience():
        assert await engine.result("1") == "StepBroken: KeyError"
        assert await engine.result("2") == "2"


async def test_any_number_of_restarts_is_survived(start, store_url):
    deciding = Deciding()
    engine = await start(store_url, deciding)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: engine.pool.waiting)
    await engine.drain(0)
    many = "UPDATE workflow_status SET recovery_attempts = 5000 WHERE workflow_uuid = '1'"
    assert change(store_url, many) == 1
    deciding.decided.add("1")
    engine = await start(store_url, deciding)
    async with patience():
        assert await engine.result("1") == "1"
