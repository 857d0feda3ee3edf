"""The sweeps in the store, on both databases: whose turn, how far, what is missing."""

from __future__ import annotations

import pytest

from app.records.deliveries import Attempt
from app.store.database import Database
from app.store.schedule_leases import LogPosition, Missed, Sweeps
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import Delivery


@pytest.fixture
def store(store_url):
    made = Database(store_url)
    yield made
    made.close()


def attempt(number, guid, *, ok=False, repeated=False, at=100.0):
    return Attempt(number, guid, "issues", "labeled", 2**40, ok, repeated, at, 202 if ok else 0)


async def due(sweeps, **options):
    return await sweeps.due(**{"now": 1e10, "since": 0.0, "most": 10, **options})


async def test_one_process_has_the_turn(store):
    one, two = Sweeps(store, "one"), Sweeps(store, "two")
    async with (
        one.turn("deliveries", 60) as mine,
        two.turn("deliveries", 60) as theirs,
        two.turn("labels", 60) as other,
    ):
        assert (mine, theirs, other) == (True, False, True)
    async with two.turn("deliveries", 60) as theirs:
        assert theirs


async def test_of_each_delivery_that_failed_the_first_attempt_is_due(store):
    sweeps = Sweeps(store, "one")
    reading = LogPosition(mark=1.5, top=2.5, cursor="v1_7")
    async with sweeps.turn("deliveries", 60):
        page = [attempt(5, "b", at=50.0), attempt(4, "a", at=40.0), attempt(3, "b", at=30.0)]
        await sweeps.note("deliveries", reading, page)
        await sweeps.note("deliveries", reading, page)
    assert await sweeps.read_progress("deliveries") == reading
    assert await due(sweeps) == [Missed("b", 3, 0), Missed("a", 4, 0)]
    assert await due(sweeps, since=35.0) == [Missed("a", 4, 0)]
    assert await due(sweeps, most=1) == [Missed("b", 3, 0)]
    await sweeps.record_redelivery(Missed("b", 3, 0), next_at=1e11)
    await sweeps.record_gone("a")
    assert await due(sweeps) == []
    assert await due(sweeps, now=1e12) == [Missed("b", 3, 1)]
    assert await sweeps.open_of(2**40, "issues", "labeled") == 1
    await sweeps.forget(before=35.0)
    assert await sweeps.open_of(2**40, "issues", "labeled") == 0


@pytest.mark.parametrize("newest_first", [True, False])
async def test_what_arrived_at_last_is_not_due_in_whatever_order_it_is_told(store, newest_first):
    sweeps = Sweeps(store, "one")
    pages = [[attempt(9, "a", ok=True, repeated=True, at=9.0)], [attempt(1, "a", at=1.0)]]
    async with sweeps.turn("deliveries", 60):
        for page in pages if newest_first else reversed(pages):
            await sweeps.note("deliveries", LogPosition(), page)
    assert await due(sweeps) == []


async def test_what_is_in_the_inbox_is_not_due(store):
    sweeps = Sweeps(store, "one")
    async with sweeps.turn("deliveries", 60):
        await sweeps.note("deliveries", LogPosition(), [attempt(1, "a"), attempt(2, "b")])
    await Inbox(store, limit=9).store(Delivery("a", "issues", "labeled", 1, "d", b"{}"))
    assert [each.guid for each in await due(sweeps)] == ["b"]
