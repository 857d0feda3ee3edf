"""A repository is forgotten beside a server at work, which has to write all the while."""

from __future__ import annotations

import asyncio
import json

import pytest
from sqlalchemy import event

from agents.run import Outcome
from app.maintenance.purge import StillLive, forget
from app.runs.engine import Engine
from app.store.database import Database
from app.store.deliveries import Arrival, Mark, claim, count_states, mark
from app.store.repository_rows import ROWS_AT_ONCE, conducted_about, ids_of
from app.store.runs.history import History
from app.store.runs.runs import Runs
from tests.app.maintenance.test_retention import GONE, IDS, OLD, WAITING, WORD, request_for, run_of
from tests.patience import PATIENCE

MANY = ROWS_AT_ONCE + 7


def arrival(number):
    body = json.dumps({"repository": {"id": 7 + number % 3 // 2, "full_name": "o/Lib"}})
    name = f"e{number}"
    return Arrival(name, name, "issues", "opened", 1, name, body.encode(), 1.0)


@pytest.fixture
async def database(store_url):
    """Deliveries about two repositories of one name, most of them about the first."""
    made = Database(store_url)
    arrivals = [arrival(number) for number in range(MANY)]
    await made.write(lambda c: claim(c, arrivals))
    await made.write(lambda c: mark(c, [Mark(each.id, "dispatched") for each in arrivals]))
    yield made
    made.close()


async def test_nobody_looks_through_deliveries_with_the_lock_in_hand(database, tmp_path):
    await run_of(database, GONE, age=1)
    looked = []

    def listen(connection, _cursor, statement, *_):
        writes = connection.get_execution_options().get("writes", False)
        if "body" in statement and statement.startswith("SELECT"):
            looked.append(writes)

    event.listen(database.engine, "before_cursor_execute", listen)
    done = await forget(database, tmp_path, [IDS[GONE]], alone=False)
    assert looked
    assert not any(looked)
    assert done == (1, sum(number % 3 // 2 == 0 for number in range(MANY)) + 1)
    assert sum((await database.read(count_states)).values()) == MANY + 1 - done.deliveries


async def test_what_is_under_way_is_not_touched(database, tmp_path):
    await run_of(database, WAITING, age=1, ended=False)
    with pytest.raises(StillLive):
        await forget(database, tmp_path, [IDS[WAITING]], alone=False)
    assert await Runs(database).request(WAITING)
    assert sum((await database.read(count_states)).values()) == MANY + 1
    assert (await forget(database, tmp_path, [IDS[WAITING]], alone=True)).runs == 1


async def test_what_is_asked_for_meanwhile_keeps_its_mirror(database, tmp_path):
    class CountingDatabase(Database):
        async def write(self, fn):
            done = await super().write(fn)
            if fresh:
                await run_of(database, fresh.pop(), age=0, ended=False)
            return done

    await run_of(database, GONE, age=1)
    mirror = tmp_path / "mirrors" / f"{IDS[GONE]}.git"
    mirror.mkdir(parents=True)
    fresh, beside = (
        [WAITING],
        CountingDatabase(database.engine.url.render_as_string(hide_password=False)),
    )
    ids = [IDS[GONE], IDS[WAITING]]
    assert (await forget(beside, tmp_path, ids, alone=False)).runs == 1
    beside.close()
    assert mirror.exists()
    assert await Runs(database).request(WAITING)


async def test_a_name_is_known_from_deliveries_alone(database):
    assert await ids_of(database, "O/lib") == {7, 8}
    assert await ids_of(database, "o/other") == set()


async def test_a_run_whose_last_step_is_not_recorded_yet_is_waited_for(store_url, tmp_path):
    """Its row says that it has ended; what the engine is about to write would stay behind."""
    database, at_end, go = Database(store_url), asyncio.Event(), asyncio.Event()

    async def conduct(run_id, request, steps):
        async def finish():
            await Runs(database).record_end(run_id, Outcome(kind="comment", text=WORD))
            at_end.set()
            await go.wait()
            return WORD

        return await steps.step("finish/1", finish)

    engine = Engine(store_url, executor="one")
    await engine.launch(conduct)
    try:
        request = request_for(IDS[OLD])
        await Runs(database).create(OLD, request)
        await engine.enqueue(OLD, request.lane, request.model_dump(mode="json"))
        await asyncio.wait_for(at_end.wait(), PATIENCE)
        with pytest.raises(StillLive):
            await forget(database, tmp_path, [IDS[OLD]], alone=False)
        assert await Runs(database).outcome(OLD) is not None, "nothing is half forgotten"
        go.set()
        await engine.result(OLD)
        assert (await forget(database, tmp_path, [IDS[OLD]], alone=False)).runs == 1
        assert await conducted_about(database, [IDS[OLD]]) == []
        assert await History(database).steps(OLD) == []
    finally:
        await engine.drain(0)
        database.close()
