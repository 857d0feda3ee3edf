"""The journal, on SQLite and on PostgreSQL: what was said comes back as it was, in order."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import insert, update
from sqlalchemy.exc import IntegrityError

from agents.ports import Ruling, Turn, Usage
from app.store.database import Database
from app.store.runs.turns import StoredJournal, spent_since
from app.store.spending import sum_lanes
from app.store.tables import remediations, runs, turns

ROW = {
    "lane": "octo/lib#7",
    "kind": "resolve_issue",
    "request": "{}",
    "installation_id": 1,
    "repository_id": 9,
    "repository": "octo/lib",
    "number": 7,
    "asked_by": "mara",
    "state": "running",
    "created_at": 1.0,
    "updated_at": 1.0,
}
ANSWER = Turn(
    "answer",
    "triage/1",
    [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "ä\0\u2028.py"}},
    ],
    stop_reason="tool_use",
    usage=Usage(input=10, output=20, cache_read=30),
    cost_usd=0.25,
    seconds=1.5,
)


@pytest.fixture
async def store(store_url):
    database = Database(store_url)
    for run_id in ("1", "2"):
        await database.write(lambda c, r=run_id: c.execute(insert(runs), {**ROW, "id": r}))
    yield database
    database.close()


@pytest.fixture
def journal(store):
    return StoredJournal(store, "1")


def prompt(text):
    return Turn("prompt", "triage/1", [{"type": "text", "text": text}])


async def test_turns_come_back_as_they_were_in_their_order(journal):
    results = Turn("results", "triage/1", [{"type": "tool_result", "content": "x"}], tree="abc")
    remark = Turn("remark", "triage/1", [{"type": "text", "text": "Nine."}, {"type": "text"}])
    rulings = {
        "toolu_1": Ruling("ask", "dependency/new", "abcdef"),
        "2": Ruling("allow", "default"),
    }
    ruled = Turn("results", "triage/1", [], rulings=rulings)
    said = [prompt("Hello"), replace(ANSWER, model="claude-opus-5"), results, remark, ruled]
    for number, turn in enumerate(said):
        await journal.append("triage/1", number, turn)
    assert await journal.turns("triage/1") == said
    assert await journal.turns("decompose/1") == []


async def test_content_is_the_same_json_every_time(journal):
    await journal.append("triage/1", 0, ANSWER)
    first, second = [await journal.turns("triage/1") for _ in range(2)]
    assert json.dumps(first[0].content) == json.dumps(second[0].content)
    assert list(first[0].content[1]) == ["type", "id", "name", "input"]


async def test_half_a_character_is_no_reason_to_lose_an_answer(journal):
    await journal.append("triage/1", 0, prompt("half \ud83d of one"))
    assert (await journal.turns("triage/1"))[0] == prompt("half \ud83d of one")


async def test_two_writers_in_one_session_are_an_error(journal):
    await journal.append("triage/1", 0, prompt("mine"))
    with pytest.raises(IntegrityError):
        await journal.append("triage/1", 0, prompt("yours"))
    assert await journal.turns("triage/1") == [prompt("mine")]


async def test_spending_is_that_of_the_run_over_all_sessions(journal, store):
    assert await journal.sum_usage() == (Usage(), 0, 0)
    await journal.append("triage/1", 0, prompt("Hello"))
    await journal.append("triage/1", 1, ANSWER)
    await journal.append("implement/1", 0, ANSWER)
    await StoredJournal(store, "2").append("triage/1", 0, ANSWER)
    usage, usd, answers = await journal.sum_usage()
    assert usage == Usage(input=20, output=40, cache_read=60)
    assert (usd, answers) == (0.5, 2)


async def spend(store, run_id, usd, moment):
    """Have a run spend this at that moment, on an answer."""
    journal = StoredJournal(store, run_id)
    number = len(await journal.turns("triage/1"))
    await journal.append("triage/1", number, replace(ANSWER, cost_usd=usd))
    row = (turns.c.run_id == run_id, turns.c.number == number)
    await store.write(lambda c: c.execute(update(turns).where(*row).values(created_at=moment)))


async def become(store, run_id, **values):
    await store.write(lambda c: c.execute(update(runs).where(runs.c.id == run_id).values(**values)))


def midnight():
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


async def test_a_day_is_that_of_the_repository_from_midnight_utc(journal, store):
    assert await journal.spent_today() == 0
    today = midnight()
    await spend(store, "1", 1.0, today)
    await spend(store, "2", 2.0, today + 1)
    await spend(store, "2", 4.0, today - 0.001)
    other = {**ROW, "id": "3", "repository_id": 10}
    await store.write(lambda c: c.execute(insert(runs), other))
    await spend(store, "3", 8.0, today + 1)

    assert await journal.spent_today() == 3.0
    assert await StoredJournal(store, "2").spent_today() == 3.0
    assert await StoredJournal(store, "3").spent_today() == 8.0


@pytest.mark.parametrize("state", ["done", "refused", "cancelled", "failed", "parked", "queued"])
async def test_a_day_counts_runs_that_have_ended_and_runs_that_wait(journal, store, state):
    today = midnight()
    await spend(store, "2", 2.0, today + 1)
    ended_at = 1.0 if state in {"parked", "queued"} else today + 2
    await become(store, "2", state=state, updated_at=ended_at)

    assert await journal.spent_today() == 2.0


async def test_a_renamed_repository_has_one_day_and_a_namesake_its_own(journal, store):
    await spend(store, "2", 2.0, midnight() + 1)
    await become(store, "2", repository="octo/renamed")
    assert await journal.spent_today() == 2.0
    await become(store, "2", repository="octo/lib", repository_id=10)
    assert await journal.spent_today() == 0.0


async def test_a_day_is_looked_up_by_indexes_alone(store):
    """What was said is not read for it, and no run of another repository is looked at."""
    if store.engine.dialect.name != "sqlite":
        pytest.skip("SQLite tells its plan in a form that can be read")
    query = spent_since("1", 0.0).compile(store.engine, compile_kwargs={"literal_binds": True})
    plan = await store.read(lambda c: c.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}").all())
    lines = [row[3] for row in plan]
    assert not [line for line in lines if line.startswith("SCAN")]
    assert any("USING COVERING INDEX turns_spent (run_id=? AND created_at>?)" in x for x in lines)
    assert any("USING INDEX runs_by_repository (repository_id=?" in x for x in lines)


async def test_a_session_of_another_run_is_another_session(journal, store):
    await journal.append("triage/1", 0, prompt("mine"))
    other = StoredJournal(store, "2")
    assert await other.turns("triage/1") == []
    await other.append("triage/1", 0, prompt("theirs"))
    assert await journal.turns("triage/1") == [prompt("mine")]


async def test_a_pull_request_costs_what_all_runs_cost_that_had_a_part_in_it(store):
    """Those of the lane that its first run is in, whose texts may be gone, and of its own lane."""
    review = {**ROW, "id": "3", "lane": "octo/lib#31", "number": 31}
    other = {**ROW, "id": "4", "lane": "octo/lib#8", "number": 8}
    kept = {**ROW, "id": "5", "kept_usd": 2.0, "kept_answers": 7}
    for row in (review, other, kept):
        await store.write(lambda c, row=row: c.execute(insert(runs), row))
    for run_id in ("1", "3", "4"):
        await StoredJournal(store, run_id).append("triage/1", 0, ANSWER)

    spent = await store.read(lambda c: sum_lanes(c, "1", "octo/lib#31"))

    assert spent == (2.5, 9, 3), "a run that asked no model is none of them"
    assert await store.read(lambda c: sum_lanes(c, "gone", "octo/lib#31")) == (0.25, 1, 1)


async def test_another_pull_request_about_the_same_package_is_no_part_of_it(store):
    lane = "octo/lib/pip/jinja2"
    values = {"lane": lane, "repository_id": 9, "base": "main", "declined": False, "found": "{}"}
    values |= {"state": "fixed", "open_alerts": "[]", "commit": "", "ended_at": 1, "looked_at": 1}
    for run_id, number in (("5", 20), ("6", 0), ("7", 31)):
        row, made = {**ROW, "id": run_id, "lane": lane}, {**values, "number": number}
        await store.write(lambda c, row=row: c.execute(insert(runs), row))
        made["run_id"] = run_id
        await store.write(lambda c, made=made: c.execute(insert(remediations), made))
        await StoredJournal(store, run_id).append("verify/1", 0, ANSWER)

    spent = await store.read(lambda c: sum_lanes(c, "7", "octo/lib#31"))

    assert spent == (0.5, 2, 2), "its own run, and one before that came to nothing"
