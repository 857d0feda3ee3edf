"""Engines on a real DBOS, and what conducts their runs."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import create_engine, text

from app.runs.durable_steps import StepBroken, StepGivenUp
from app.runs.engine import Engine
from tests.patience import PATIENCE

NEVER = 10 * PATIENCE


@pytest.fixture
async def start():
    """Launch engines one after another; what is still up at the end is let go."""
    running = []

    async def launch(url, conduct, **more):
        settings = {"executor": "one", "retry_seconds": 0.01, **more}
        engine = Engine(url, **settings)
        await engine.launch(conduct)
        running.append(engine)
        return engine

    yield launch
    for engine in running:
        await engine.drain(0)


@asynccontextmanager
async def patience():
    async with asyncio.timeout(PATIENCE):
        yield


async def wait_until(true):
    async with patience():
        while not true():
            await asyncio.sleep(0.01)


def change(url, statement, **values):
    """Change a row of the engine's tables behind its back."""
    engine = create_engine(url)
    if engine.dialect.name == "postgresql":
        statement = statement.replace("UPDATE ", "UPDATE dbos.")
    used = {name: value for name, value in values.items() if f":{name}" in statement}
    with engine.begin() as connection:
        changed = connection.execute(text(statement), used).rowcount
    engine.dispose()
    return changed


class Recorder:
    """Conducts runs of some steps, and remembers what began when.

    Steps that are `held` do not end before they are let go.
    """

    def __init__(self, *steps, seconds=0.0, held=()):
        self.steps = steps or ("stage/work/1",)
        self.seconds = seconds
        self.held = set(held)
        self.began = []
        self.now = Counter()
        self.most = Counter()
        self.together = 0

    async def __call__(self, run_id, request, steps):
        for name in self.steps:
            await steps.step(name, lambda name=name: self.work(run_id, request, name))
        return run_id

    async def work(self, run_id, request, name):
        lane = request["lane"]
        self.began.append((run_id, name))
        self.now[lane] += 1
        self.most[lane] = max(self.most[lane], self.now[lane])
        self.together = max(self.together, self.now.total())
        await asyncio.sleep(self.seconds)
        while name in self.held:
            await asyncio.sleep(0.01)
        self.now[lane] -= 1
        return name


class Failing:
    """Conducts a run with one step that raises these errors first, and keeps what came of it."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.tries = []
        self.raised = None

    async def __call__(self, run_id, request, steps):
        try:
            return await steps.step("stage/work/1", self.work)
        except (StepBroken, StepGivenUp) as error:
            self.raised = error
            return f"{type(error).__name__}: {error}"

    async def work(self):
        self.tries.append(time.monotonic())
        if self.errors:
            raise self.errors.pop(0)
        return "done"
