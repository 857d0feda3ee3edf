"""The table of tests that fail now and then, on SQLite and on PostgreSQL."""

from __future__ import annotations

from agents.ports import FlakySighting, FlakyTest
from app.store.flaky_tests import NAMES_KEPT, RUNS_KEPT, StoredFlakyTests, forget_flaky

LIB, OTHER = 2**40, 2**40 + 1


def make_sighting(name, *, unchanged=False):
    return FlakySighting(command="pytest -q", name=name, unchanged=unchanged)


def memory(database, run, repository=LIB):
    return StoredFlakyTests(database, f"run{run}", repository, clock=lambda: 1000.0 + run)


async def test_runs_are_counted_and_what_one_run_saw_twice_counts_once(database):
    await memory(database, 1).note([make_sighting("a"), make_sighting("b", unchanged=True)])
    for _ in range(2):  # as after a kill
        await memory(database, 2).note([make_sighting("a")])
    await memory(database, 2).note([make_sighting("a", unchanged=True)])
    await memory(database, 3, OTHER).note([make_sighting("c")])

    assert await memory(database, 4).list_known() == [
        FlakyTest(command="pytest -q", name="a", runs=2, unchanged=1, last_at=1002.0),
        FlakyTest(command="pytest -q", name="b", runs=1, unchanged=1, last_at=1001.0),
    ]
    assert [each.runs for each in await memory(database, 2).list_known()] == [1, 1]
    assert await database.write(lambda c: forget_flaky(c, {LIB})) == 2
    assert await memory(database, 4).list_known() == []
    assert len(await memory(database, 4, OTHER).list_known()) == 1


async def test_a_repository_that_names_ever_more_tests_fills_no_table(database):
    await memory(database, 0).note(
        [make_sighting(f"first{number}") for number in range(NAMES_KEPT + 9)]
    )
    assert len(await memory(database, -1).list_known()) == NAMES_KEPT

    for run in range(1, RUNS_KEPT + 1):
        await memory(database, run).note([make_sighting("a")])
    [left] = await memory(database, -1).list_known()
    assert (left.name, left.runs) == ("a", RUNS_KEPT)
