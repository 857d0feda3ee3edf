"""Decisions wake their runs: within a second, once each, whatever else goes wrong."""

from __future__ import annotations

import asyncio
import time

from agents.errors import TransientError
from app.runs.wakeup import OVERLAP_SECONDS, WakeupPoller
from tests.patience import PATIENCE


class TimedDecisions:
    """What was decided, by when; `failing` is raised first."""

    def __init__(self, **decided):
        self.decided = decided
        self.failing = []
        self.expired = 0
        self.since = []

    async def expire(self):
        self.expired += 1
        if self.failing:
            raise self.failing.pop(0)
        return 0

    async def decided_since(self, moment):
        self.since.append(moment)
        return [(ident, f"run-{ident}") for ident, at in self.decided.items() if at >= moment]


async def test_each_decision_wakes_its_run_once():
    decisions, woken = TimedDecisions(a=time.time()), []
    waking = WakeupPoller(decisions, woken.append)
    await waking.look_once()
    decisions.decided["b"] = time.time()
    await waking.look_once()
    await waking.look_once()
    assert woken == ["run-a", "run-b"]
    assert decisions.expired == 3


async def test_a_decision_of_a_clock_that_is_late_is_seen():
    decisions, woken = TimedDecisions(), []
    waking = WakeupPoller(decisions, woken.append)
    await waking.look_once()
    decisions.decided["a"] = time.time() - OVERLAP_SECONDS / 2
    decisions.decided["old"] = time.time() - 2 * OVERLAP_SECONDS
    await waking.look_once()
    assert woken == ["run-a"]


async def test_it_looks_rarely_while_no_run_is_here_and_misses_nothing():
    decisions, woken, here = TimedDecisions(), [], []
    waking = WakeupPoller(decisions, woken.append, needed=lambda: bool(here), look_seconds=0.001)
    looking = asyncio.create_task(waking.run())
    async with asyncio.timeout(PATIENCE):
        while not decisions.since:
            await asyncio.sleep(0.001)
        decisions.decided["a"] = time.time()
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert len(decisions.since) < 10
        here.append("run-a")
        while not woken:
            await asyncio.sleep(0.001)
    looking.cancel()
    assert woken == ["run-a"]


async def test_no_trouble_ends_the_looking():
    decisions, woken = TimedDecisions(a=time.time()), []
    decisions.failing = [TransientError("The database is away"), KeyError("a slip")]
    looking = asyncio.create_task(WakeupPoller(decisions, woken.append, look_seconds=0.01).run())
    async with asyncio.timeout(PATIENCE):
        while not woken:
            await asyncio.sleep(0.01)
    looking.cancel()
    assert woken == ["run-a"]


class Steers:
    """What was said, by when."""

    def __init__(self, **said):
        self.said = said

    async def steered_since(self, moment):
        return [(key, f"run-{key}") for key, at in self.said.items() if at >= moment]


async def test_each_steer_rings_and_wakes_once():
    steers, woken, rung = Steers(a=time.time()), [], []
    waking = WakeupPoller(TimedDecisions(), woken.append, steers=steers, ring=rung.append)
    await waking.look_once()
    steers.said["b"] = time.time()
    await waking.look_once()
    await waking.look_once()
    assert woken == rung == ["run-a", "run-b"]


async def test_what_was_said_while_the_machine_slept_is_seen(monkeypatch):
    """A look reaches back behind the last one, however long ago that was."""
    now = time.time()
    steers, woken = Steers(), []
    waking = WakeupPoller(TimedDecisions(), woken.append, steers=steers)
    await waking.look_once()
    steers.said["a"] = now + 60
    monkeypatch.setattr("app.runs.wakeup.time.time", lambda: now + 10 * OVERLAP_SECONDS)
    await waking.look_once()
    await waking.look_once()
    assert woken == ["run-a"]
