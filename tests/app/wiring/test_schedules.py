"""Schedules of the engine: done at once, then by the clock, whatever befalls one of them."""

from __future__ import annotations

import asyncio

import pytest
import structlog

from agents.errors import ConfigError
from app.config.settings import load_settings
from app.runs.engine import Engine
from app.store.database import Database
from tests.patience import PATIENCE


async def conduct(run_id, request, steps):
    return run_id


@pytest.fixture
async def launched(store_url):
    """Return a function that starts an engine, as a process does; each ends with the test."""
    running = []

    async def start():
        for engine in running:
            await engine.drain(0)
        running[:] = [Engine(store_url, executor="one")]
        await running[0].launch(conduct)
        return running[0]

    yield start
    for engine in running:
        await engine.drain(0)


class Routine:
    """Counts how often it is done; fails as often as it is told to."""

    def __init__(self, failures=0):
        self.done = 0
        self.failures = failures
        self.under_way = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def __call__(self):
        self.under_way.set()
        await self.go_on.wait()
        self.done += 1
        if self.done <= self.failures:
            raise RuntimeError("a slip")

    async def wait_until(self, number):
        async with asyncio.timeout(PATIENCE):
            while self.done < number:
                await asyncio.sleep(0.02)


async def test_it_is_done_at_once_and_then_by_the_clock(launched):
    engine, often, rarely = await launched(), Routine(), Routine()
    await engine.schedule("rarely", 3600, rarely)
    await rarely.wait_until(1)
    await engine.schedule("often", 1, often)
    await often.wait_until(3)
    assert rarely.done == 1


async def test_a_fault_is_logged_and_the_next_time_comes(launched):
    engine, routine = await launched(), Routine(failures=1)
    with structlog.testing.capture_logs() as lines:
        await engine.schedule("shaky", 1, routine)
        await routine.wait_until(2)
    [line] = [each for each in lines if each["log_level"] == "error"]
    assert line["routine"] == "shaky"


async def test_one_cut_off_by_a_drain_is_done_after_the_next_start(launched):
    engine, cut = await launched(), Routine()
    cut.go_on.clear()
    await engine.schedule("sweep", 3600, cut)
    await asyncio.wait_for(cut.under_way.wait(), PATIENCE)
    again = Routine()
    engine = await launched()
    assert cut.done == 0
    await engine.schedule("sweep", 3600, again)
    await again.wait_until(1)


async def test_a_process_without_the_routine_leaves_it_alone(launched, store_url):
    engine, routine = await launched(), Routine()
    await engine.schedule("sweep", 1, routine)
    await routine.wait_until(1)
    with structlog.testing.capture_logs() as lines:
        engine = await launched()  # as `fettle resolve` does, which has no door
        await asyncio.sleep(2.5)
    assert lines == []
    database = Database(store_url)
    table = "dbos.workflow_status" if "postgresql" in store_url else "workflow_status"
    query = f"SELECT DISTINCT status FROM {table} WHERE name = 'routine'"
    states = await database.read(lambda c: set(c.exec_driver_sql(query).scalars()))
    database.close()
    assert "ERROR" not in states


@pytest.mark.parametrize("seconds", ["1", "2", "30", "60", "300", "600", "1800", "3600"])
def test_what_divides_the_clock_can_be_set(seconds):
    settings = load_settings({"FETTLE_SWEEP_SECONDS": seconds, "HOME": "/nowhere"}, serving=False)
    assert settings.sweep_seconds == int(seconds)


@pytest.mark.parametrize("seconds", ["0", "-1", "7", "45", "90", "420", "3601", "7200", "soon"])
def test_what_does_not_is_refused(seconds):
    with pytest.raises(ConfigError) as caught:
        load_settings({"FETTLE_SWEEP_SECONDS": seconds, "HOME": "/nowhere"}, serving=False)
    assert "FETTLE_SWEEP_SECONDS" in str(caught.value)
