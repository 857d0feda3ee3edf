"""A dispatcher over a real inbox, and an engine that fails when it is told to."""

from __future__ import annotations

import asyncio
import json

import pytest

from agents.errors import TransientError
from app.store.runs.runs import Runs
from app.webhooks.dispatcher import Dispatcher
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import Delivery


class FailingEngine:
    """Takes requests, unless told to fail for a run or altogether."""

    def __init__(self):
        self.taken = []
        self.refuse = {}
        self.down = False
        self.asked = 0

    async def submit(self, run_id, request):
        self.asked += 1
        if self.down:
            raise TransientError("the engine starts")
        if self.refuse.get(request.number, 0) > 0:
            self.refuse[request.number] -= 1
            raise RuntimeError(f"cannot take {request.number}")
        self.taken.append((run_id, request.number))

    @property
    def numbers(self):
        return [number for _, number in self.taken]


@pytest.fixture
def engine():
    return FailingEngine()


@pytest.fixture
async def inbox(database):
    return Inbox(database, limit=1000)


@pytest.fixture
def dispatcher(database, inbox, engine):
    return Dispatcher(database, inbox, engine, retry_seconds=0.01)


@pytest.fixture
def insert(inbox, sender):
    async def insert_delivery(body=None, **changes):
        payload = sender.payload(**changes)
        if body is None:
            body = json.dumps(payload).encode()
        number = payload["issue"]["number"]
        await inbox.store(Delivery(f"d{number}", "issues", "labeled", 1, f"h{number}", body))
        return number

    return insert_delivery


@pytest.fixture
async def running(dispatcher):
    going = asyncio.create_task(dispatcher.run())
    yield going
    assert not going.done()
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going


@pytest.fixture
def states(database):
    async def read_states():
        query = "SELECT id, state, note FROM deliveries ORDER BY run_id"
        return await database.read(lambda c: [tuple(r) for r in c.exec_driver_sql(query)])

    return read_states


@pytest.fixture
def take(engine, database):
    """Have the engine create the runs it takes, as the runner does."""
    submit = engine.submit

    async def take_request(run_id, request):
        await submit(run_id, request)
        if request.kind != "command":
            await Runs(database).create(run_id, request)

    engine.submit = take_request
