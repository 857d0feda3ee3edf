"""What is known of runs, on SQLite and on PostgreSQL: as it was stored, or not at all."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import text

from agents.ports import Turn, Usage
from agents.run import Outcome
from app.store.runs.history import History
from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.app.github.approvals.test_action_text import REQUEST

COLUMNS = (
    "(workflow_uuid, function_id, function_name, output, started_at_epoch_ms,"
    " completed_at_epoch_ms)"
)


@pytest.fixture
async def history(database):
    runs = Runs(database)
    await runs.create("run-1", REQUEST)
    await runs.create("run-2", REQUEST.model_copy(update={"title": "A\x1bB"}))
    await runs.record_end("run-1", Outcome(kind="comment", text="Asked."))
    return History(database)


@pytest.fixture
async def sql(database):
    async def execute(*statements):
        for statement in statements:
            await database.write(lambda c, s=statement: c.execute(text(s)))

    return execute


async def test_runs_come_newest_first_with_what_they_spent(history, database):
    journal = StoredJournal(database, "run-1")
    for number, kind in enumerate(("prompt", "answer", "answer")):
        await journal.append("s/1", number, Turn(kind, "s/1", [], cost_usd=0.25))
    newest, oldest = await history.newest(5)
    assert (newest.id, newest.title, newest.answers, newest.usd) == ("run-2", "A\x1bB", 0, 0)
    assert (oldest.id, oldest.answers, oldest.usd) == ("run-1", 2, 0.5)
    assert oldest.outcome == Outcome(kind="comment", text="Asked.")
    assert await history.newest(1) == [newest]
    assert await history.newest(5, states=["done"], repository="Parse") == [oldest]
    assert await history.newest(5, repository="parse/parse") == []
    assert sorted(await history.ids()) == ["run-1", "run-2"]
    assert await history.run("run-1") == oldest
    assert await history.run("run") is None


async def test_turns_of_all_sessions_come_in_the_order_of_time(history, database, sql):
    journal = StoredJournal(database, "run-1")
    for session in ("b/1", "a/1", "b/1"):
        number = len(await journal.turns(session))
        told = Turn("answer", session, [{"type": "text"}], usage=Usage(input=7), seconds=2.0)
        await journal.append(session, number, told)
    found = await history.turns("run-1", content=True)
    assert [(turn.session, turn.number) for turn in found] == [("b/1", 0), ("a/1", 0), ("b/1", 1)]
    assert (found[0].content, found[0].usage) == ([{"type": "text"}], Usage(input=7))
    assert {turn.content and 1 for turn in await history.turns("run-1", content=False)} == {None}
    await sql("UPDATE turns SET content = '{\"a\": 1}', usage = '{\"x\": 1}'")
    damaged = (await history.turns("run-1", content=True))[0]
    assert (damaged.content, damaged.usage, damaged.seconds) == (None, Usage(), 2.0)


@pytest.fixture
def steps(database):
    """The name of the table that the engine made when it was started on this database."""
    return ("" if database.engine.dialect.name == "sqlite" else "dbos.") + "operation_outputs"


async def test_steps_are_those_that_the_engine_recorded(history, sql, steps):
    assert await history.steps("run-1") == []
    row = f"INSERT INTO {steps} {COLUMNS} VALUES"
    given_up = json.dumps({"given_up": "no way"})
    workflows = steps.replace("operation_outputs", "workflow_status")
    await sql(
        *(f"INSERT INTO {workflows} (workflow_uuid) VALUES ('run-{n}')" for n in (1, 2)),
        f"{row} ('run-1', 2, 'stage/b/1', '{given_up}', 2000, 2500)",
        f"{row} ('run-1', 1, 'stage/a/1', '[', 1000, 2000)",
        f"{row} ('run-1', 3, 'stage/c/1', '[]', NULL, NULL)",
        f"{row} ('run-2', 1, 'stage/a/1', '[]', 1000, 2000)",
    )
    first, second = await history.steps("run-1")
    assert (first.name, first.started_at, first.ended_at) == ("stage/a/1", 1.0, 2.0)
    assert first.record is None
    kept = {"error": "no way", "error_kind": "StepGivenUp"}
    assert (second.ended_at, second.record) == (2.5, kept)


@pytest.mark.parametrize(
    "change", ["ALTER TABLE {} RENAME COLUMN function_name TO called", "DROP TABLE {}"]
)
async def test_an_engine_that_calls_things_otherwise_is_no_trouble(history, sql, steps, change):
    await sql(change.format(steps))
    assert await history.steps("run-1") == []
    assert (await history.run("run-1")).id == "run-1"
