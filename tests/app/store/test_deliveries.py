"""The inbox table: a delivery is claimed once, whatever comes twice, and leaves when marked."""

from __future__ import annotations

import pytest

from app.store.deliveries import (
    Arrival,
    Mark,
    claim,
    count_states,
    list_waiting,
    mark,
    oldest_waiting,
)


def arrival(number, *, ident=None, digest=None, run=None):
    return Arrival(
        ident or f"id{number}",
        run or f"{number:04d}-run",
        "issues",
        "labeled",
        42,
        digest or f"digest{number}",
        b'{"n": %d}' % number,
        1000.0 + number,
    )


@pytest.fixture
def write(database):
    return database.write


async def test_new_ones_are_stored_as_they_came(database):
    assert await database.write(lambda c: claim(c, [arrival(1), arrival(2)])) == ["stored"] * 2
    rows = await database.read(lambda c: list_waiting(c, limit=10))
    assert [(r.id, r.run_id, r.event, r.body) for r in rows] == [
        ("id1", "0001-run", "issues", b'{"n": 1}'),
        ("id2", "0002-run", "issues", b'{"n": 2}'),
    ]


async def test_same_id_or_same_body_is_claimed_once(write):
    await write(lambda c: claim(c, [arrival(1)]))
    batch = [
        arrival(2),
        arrival(3, ident="id1"),
        arrival(4, digest="digest1"),
        arrival(5, ident="id2"),
        arrival(6, digest="digest2"),
        arrival(7),
    ]
    claims = await write(lambda c: claim(c, batch))
    assert claims == ["stored", "duplicate", "duplicate", "duplicate", "duplicate", "stored"]


async def test_a_failed_one_is_received_again_under_its_run_id(write):
    await write(lambda c: claim(c, [arrival(1)]))
    await write(lambda c: mark(c, [Mark("id1", "failed", "boom")]))
    assert await write(lambda c: list_waiting(c, limit=10)) == []
    assert await write(lambda c: claim(c, [arrival(9, ident="id1", digest="digest1")])) == ["again"]
    (row,) = await write(lambda c: list_waiting(c, limit=10))
    assert row.run_id == "0001-run"
    assert await write(lambda c: claim(c, [arrival(10, ident="id1")])) == ["duplicate"]


@pytest.mark.parametrize("state", ["received", "dispatched", "ignored"])
async def test_others_are_not_received_again(write, state):
    await write(lambda c: claim(c, [arrival(1)]))
    await write(lambda c: mark(c, [Mark("id1", state)]))
    assert await write(lambda c: claim(c, [arrival(9, ident="id1")])) == ["duplicate"]
    assert await write(count_states) == {state: 1}


async def test_waiting_is_in_order_of_arrival_limited_and_leaves_out(write):
    await write(lambda c: claim(c, [arrival(3), arrival(1), arrival(2)]))
    assert [r.id for r in await write(lambda c: list_waiting(c, limit=2))] == ["id1", "id2"]
    rest = await write(lambda c: list_waiting(c, limit=9, leave_out={"id1", "id3"}))
    assert [r.id for r in rest] == ["id2"]


async def test_counts_and_the_age_of_the_oldest(write):
    assert await write(count_states) == {}
    assert await write(oldest_waiting) is None
    await write(lambda c: claim(c, [arrival(n) for n in range(1, 6)]))
    await write(lambda c: mark(c, [Mark("id1", "ignored", "why"), Mark("id2", "dispatched")]))
    assert await write(count_states) == {"received": 3, "ignored": 1, "dispatched": 1}
    assert await write(oldest_waiting) == 1003.0


async def test_a_large_batch_is_claimed_once(write):
    batch = [arrival(n) for n in range(100)]
    assert await write(lambda c: claim(c, batch)) == ["stored"] * 100
    again = [row._replace(run_id=f"new{row.run_id}") for row in batch]
    assert await write(lambda c: claim(c, again)) == ["duplicate"] * 100
