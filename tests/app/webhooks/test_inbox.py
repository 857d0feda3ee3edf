"""The inbox: group commit, once each, through a kill -9, and nobody suffers for another's row."""

from __future__ import annotations

import asyncio
import random

import pytest

from agents.errors import DeliveryError
from app.store.database import Database
from app.store.deliveries import count_states, list_waiting
from app.webhooks import inbox as module
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import Delivery
from tests.bench.webhooks.kill import kill_in_mid_load
from tests.bench.webhooks.processes import MADE_UP


def delivery(name, body=None):
    return Delivery(str(name), "issues", "labeled", 1, f"digest-{name}", body or b"{}")


@pytest.fixture
async def inbox(database):
    made = Inbox(database, limit=1000)
    await made.open()
    return made


async def read_counts(database):
    return await database.read(count_states)


async def test_each_is_on_disk_when_put_returns(inbox, database):
    assert await inbox.store(delivery("a")) == "stored"
    assert await read_counts(database) == {"received": 1}
    assert inbox.arrived.is_set()
    assert inbox.depth == 1


async def test_many_share_a_commit(inbox, database):
    commits = []
    write = database.write

    async def count_commit(fn):
        commits.append(1)
        return await write(fn)

    database.write = count_commit
    claims = await asyncio.gather(*(inbox.store(delivery(n)) for n in range(250)))
    assert claims == ["stored"] * 250
    assert len(commits) == 3
    assert inbox.depth == 250


async def test_repeats_are_told_and_do_not_wait(inbox):
    twice = [delivery("a"), delivery("b"), delivery("a"), delivery("b")]
    claims = await asyncio.gather(*map(inbox.store, twice))
    assert claims == ["stored", "stored", "duplicate", "duplicate"]
    assert inbox.depth == 2


async def test_run_ids_are_in_order_of_arrival_even_if_the_clock_steps_back(
    inbox, database, monkeypatch
):
    times = iter([1000.0, 1000.0, 999.0, 1001.0])
    monkeypatch.setattr(module.time, "time", lambda: next(times))
    for name in "dcba":
        await inbox.store(delivery(name))
    monkeypatch.undo()
    rows = await database.read(lambda c: list_waiting(c, limit=9))
    assert [row.id for row in rows] == ["d", "c", "b", "a"]
    assert rows[0].run_id == f"{1_000_000_000:016x}-d"
    assert len({row.run_id for row in rows}) == 4


async def test_a_poison_row_does_not_fail_its_neighbours(inbox, database):
    batch = [delivery("a"), delivery("bad\udcff"), delivery("b")]
    first, bad, last = await asyncio.gather(*map(inbox.store, batch), return_exceptions=True)
    assert (first, last) == ("stored", "stored")
    assert isinstance(bad, DeliveryError)
    assert bad.status == 503
    assert await read_counts(database) == {"received": 2}
    assert inbox.depth == 2


async def test_a_full_inbox_takes_nothing_until_some_are_settled(database):
    inbox = Inbox(database, limit=2)
    await inbox.open()
    results = await asyncio.gather(
        *(inbox.store(delivery(n)) for n in range(4)), return_exceptions=True
    )
    assert results[:2] == ["stored", "stored"]
    assert [r.status for r in results[2:]] == [503, 503]
    inbox.subtract(1)
    assert await inbox.store(delivery("late")) == "stored"


async def test_bodies_in_memory_are_limited(database, monkeypatch):
    monkeypatch.setattr(module, "BYTES_IN_MEMORY", 10)
    inbox = Inbox(database, limit=100)
    results = await asyncio.gather(
        *(inbox.store(delivery(n, b"x" * 10)) for n in range(2)), return_exceptions=True
    )
    assert results[0] == "stored"
    assert results[1].status == 503
    assert await inbox.store(delivery("later", b"x" * 10)) == "stored"


async def test_what_an_earlier_process_left_counts(inbox, database):
    await inbox.store(delivery("a"))
    later = Inbox(database, limit=1)
    await later.open()
    assert later.depth == 1
    assert later.arrived.is_set()
    with pytest.raises(DeliveryError):
        await later.store(delivery("b"))


async def test_a_sender_that_went_away_loses_nothing(inbox, database):
    gone = asyncio.create_task(inbox.store(delivery("a")))
    await asyncio.sleep(0)
    gone.cancel()
    assert await inbox.store(delivery("b")) == "stored"
    assert (await read_counts(database))["received"] == inbox.depth == 2


async def test_a_database_out_of_reach_is_503_for_all_at_once(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'x.db'}")  # without tables
    inbox = Inbox(database, limit=100)
    results = await asyncio.gather(
        *(inbox.store(delivery(n)) for n in range(3)), return_exceptions=True
    )
    assert [r.status for r in results] == [503] * 3
    assert inbox.depth == 0
    database.close()


@pytest.mark.parametrize("seed", range(3))
async def test_no_acknowledged_delivery_is_lost(tmp_path, seed):
    after = random.Random(seed).uniform(0.2, 0.8)
    killed = kill_in_mid_load(tmp_path, MADE_UP, after=after, connections=16)
    assert killed.acknowledged > 0
    assert killed.lost == 0
    assert killed.stored <= killed.acknowledged + 16  # those whose answer was still under way

    database = Database(f"sqlite:///{tmp_path / 'fettle.db'}")
    database.migrate()
    inbox = Inbox(database, limit=10)
    await inbox.open()
    states = await database.read(count_states)
    database.close()
    assert inbox.depth == states.get("received", 0)
    assert set(states) <= {"received", "dispatched"}
