"""Checkpoints of a run in the database: in order, bounded, gone with the run."""

from __future__ import annotations

import pytest

from agents.errors import RunError
from app.store.expire_rows import empty_runs
from app.store.repository_rows import delete_runs
from app.store.runs.checkpoints import LARGEST, StoredCheckpoints
from app.store.runs.runs import Runs
from app.store.tables import checkpoints
from tests.fakes.requests import build_resolve_issue

TREE, OTHER = "refs/fettle/runs/r1/trees/a", "refs/fettle/runs/r1/branches/b"


@pytest.fixture
async def kept(database):
    database.migrate()
    await Runs(database).create("r1", build_resolve_issue())
    return StoredCheckpoints(database, "r1")


async def number(database):
    return await database.read(lambda c: len(c.execute(checkpoints.select()).all()))


async def test_refs_are_as_last_added_and_packs_in_order(kept, database):
    await kept.add({TREE: "1" * 40}, b"PACK one")
    await kept.add({OTHER: "2" * 40})
    await kept.add({OTHER: ""})
    await kept.add({TREE: "3" * 40}, b"PACK two")
    again = StoredCheckpoints(database, "r1")
    assert await again.refs() == {TREE: "3" * 40}
    assert await again.packs() == [b"PACK one", b"PACK two"]
    assert await StoredCheckpoints(database, "r2").refs() == {}


async def test_more_than_the_bound_is_refused_in_words(kept):
    await kept.add({TREE: "1" * 40}, b"x" * (LARGEST - 10))
    with pytest.raises(RunError, match=r"more than 32 MB compressed.*ask again"):
        await kept.add({TREE: "2" * 40}, b"x" * 11)
    await kept.add({OTHER: "2" * 40})
    assert (await kept.refs())[TREE] == "1" * 40


@pytest.mark.parametrize("way", ["forget", "empty", "delete"])
async def test_they_go_with_the_run(kept, database, way):
    await kept.add({TREE: "1" * 40}, b"PACK")
    if way == "forget":
        await kept.forget()
    elif way == "delete":
        await database.write(lambda c: delete_runs(c, ["r1"]))
    else:
        await database.write(lambda c: c.exec_driver_sql("UPDATE runs SET state = 'failed'"))
        await database.write(lambda c: empty_runs(c, 9e9, 9e9))
    assert await number(database) == 0
