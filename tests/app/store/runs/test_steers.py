"""The table of steers, on SQLite and on PostgreSQL: said once, kept once, heard in order."""

from __future__ import annotations

import asyncio
import time

import pytest

from agents.run import Outcome
from app.store.database import Database
from app.store.runs.lanes import Lanes
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from tests.fakes.requests import build_repository, build_resolve_issue
from tests.patience import PATIENCE

BOB = {"by": "bob", "by_id": 2**40, "role": "write", "via": "comment"}


def wish(**changes):
    return build_resolve_issue(**{"repository": build_repository(id=2**40)} | changes)


@pytest.fixture
async def store(store_url):
    database = Database(store_url)
    for run_id in ("0001-run", "0002-run"):
        await Runs(database).create(run_id, wish())
    yield database
    database.close()


@pytest.fixture
def steers(store):
    return StoredSteers(store)


async def end(store, run_id, kind="failed"):
    await Runs(store).record_end(run_id, Outcome(kind=kind, text="It ended."))


async def test_what_is_said_is_kept_whole(steers):
    before = time.time()
    put = await steers.insert(
        "0001-run", "k1", kind="budget", words="a\0b\ud800", usd=2.5, url="https://x/1", **BOB
    )
    assert put
    [steer] = await steers.list_after("0001-run")
    assert (steer.kind, steer.words, steer.usd, steer.url) == ("budget", "ab?", 2.5, "https://x/1")
    assert (steer.by, steer.role, steer.via) == ("bob", "write", "comment")
    assert before <= steer.at <= time.time()


async def test_the_same_key_counts_once(steers):
    for words in ("first", "second"):
        assert await steers.insert("0001-run", "k1", kind="go", words=words, **BOB)
    assert [each.words for each in await steers.list_after("0001-run")] == ["first"]
    assert await steers.find_told_run("k1") == "0001-run"
    assert await steers.find_told_run("k") is None
    assert await steers.find_told_run("k%") is None


async def test_each_run_hears_only_its_own_and_in_order(steers):
    for number, run_id in enumerate(["0001-run", "0002-run", "0001-run"]):
        await steers.insert(run_id, f"k{number}", kind="remark", words=str(number), **BOB)
    said = await steers.list_after("0001-run")
    assert [each.words for each in said] == ["0", "2"]
    assert await steers.list_after("0001-run", said[0].number) == said[1:]
    assert await steers.list_after("0001-run", said[1].number) == []


async def test_numbers_grow_in_the_order_in_which_others_see_them(steers):
    """Whoever asks for what came after a number misses nothing, however many speak at once."""
    seen = []

    async def listen():
        while len(seen) < 20:
            new = await steers.list_after("0001-run", seen[-1].number if seen else 0)
            seen.extend(new)

    async def speak(number):
        await steers.insert("0001-run", f"k{number}", kind="remark", words=str(number), **BOB)

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(listen(), *(speak(number) for number in range(20)))
    assert seen == await steers.list_after("0001-run")
    assert len({each.words for each in seen}) == 20


async def test_a_run_that_has_ended_hears_nothing(store, steers):
    assert await steers.insert("0001-run", "k1", kind="cancel", **BOB)
    await end(store, "0001-run", "cancelled")
    assert not await steers.insert("0001-run", "k2", kind="go", **BOB)
    assert await steers.insert("0001-run", "k1", kind="cancel", **BOB)  # that it did hear
    assert not await steers.insert("no-run", "k3", kind="go", **BOB)
    assert len(await steers.list_after("0001-run")) == 1


async def test_several_runs_are_told_at_once(store, steers):
    both = ["0002-run", "0001-run"]
    assert await steers.insert(both, "k1", kind="cancel", **BOB)
    assert [len(await steers.list_after(each)) for each in both] == [1, 1]
    await end(store, "0001-run")
    assert await steers.insert(both, "k2", kind="cancel", **BOB)
    assert [len(await steers.list_after(each)) for each in both] == [2, 1]


async def test_the_first_cancel_is_the_one(steers):
    assert await steers.cancel_of("0001-run") is None
    await steers.insert("0001-run", "k1", kind="go", **BOB)
    await steers.insert("0001-run", "k2", kind="cancel", words="why", **BOB)
    await steers.insert("0001-run", "k3", kind="cancel", **{**BOB, "via": "label"})
    assert (await steers.cancel_of("0001-run")).words == "why"
    assert await steers.cancel_of("0002-run") is None


async def test_what_people_gave(steers):
    assert await steers.sum_granted("0001-run") == 0
    for number, usd in enumerate([2, 0.5]):
        await steers.insert("0001-run", f"k{number}", kind="budget", usd=usd, **BOB)
    await steers.insert("0001-run", "k9", kind="remark", **BOB)
    assert await steers.sum_granted("0001-run") == 2.5
    assert await steers.sum_granted("0001-run", besides="k0") == 0.5
    assert await steers.sum_granted("0002-run") == 0


async def test_what_was_said_lately(steers):
    before = time.time()
    await steers.insert("0001-run", "k1", kind="go", **BOB)
    assert [run for _, run in await steers.steered_since(before)] == ["0001-run"]
    assert await steers.steered_since(time.time() + 1) == []


# --- lanes ----------------------------------------------------------------------------------------


async def test_a_label_put_on_again_cancels_the_runs_before_it(store, steers):
    await Runs(store).create("0000-other", wish(number=8))
    await Runs(store).create("0000-else", wish(repository=build_repository(id=5)))
    await Runs(store).create("0003-run", wish())
    await end(store, "0001-run")
    for _ in range(2):
        await steers.supersede("0003-run", wish(), role="write")

    [cancel] = await steers.list_after("0002-run")
    said = (cancel.kind, cancel.by, cancel.via, cancel.role, cancel.words)
    assert said == ("cancel", "mara", "relabel", "write", "")
    for other in ("0000-other", "0000-else", "0001-run", "0003-run"):
        assert await steers.list_after(other) == []


async def test_a_label_that_arrives_late_does_not_cancel_what_came_after(store, steers):
    await steers.supersede("0001-run", wish())
    assert await steers.list_after("0002-run") == []


async def test_what_is_under_way_and_what_has_ended(store):
    lanes = Lanes(store)
    assert [run.id for run in await lanes.live(wish())] == ["0002-run", "0001-run"]
    assert [run.id for run in await lanes.live(wish(), before="0002")] == ["0001-run"]
    assert await lanes.busy(wish())
    assert not await lanes.busy(wish(number=8))
    assert not await lanes.busy(wish(repository=build_repository(id=5)))
    assert await lanes.find_ended(wish()) is None
    await Runs(store).record_comment("0001-run", 5)
    await end(store, "0001-run", "cancelled")
    await end(store, "0002-run", "refused")
    assert not await lanes.busy(wish())
    assert (await lanes.find_ended(wish())).state == "refused"
    last = await lanes.find_ended(wish(), begun=True)
    assert (last.id, last.state, last.comment_id) == ("0001-run", "cancelled", 5)
    assert await lanes.has_run("0001-run")
    assert not await lanes.has_run("0003-run")


async def test_looking_whether_a_lane_is_busy_reads_an_index(sqlite_url):
    """It is asked for nearly each comment of an organisation."""
    database = Database(sqlite_url)
    try:
        plan = await database.read(
            lambda c: c.exec_driver_sql(
                "EXPLAIN QUERY PLAN SELECT id FROM runs WHERE lane = 'a' AND repository_id = 1"
                " AND state IN ('queued', 'running', 'parked') LIMIT 1"
            ).all()
        )
        assert all("USING INDEX" in row[-1] for row in plan)
    finally:
        database.close()
