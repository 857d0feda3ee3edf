"""The journal, on SQLite and on PostgreSQL: what was said comes back as it was, in order."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from agents.ports import Turn, Usage
from app.store.database import Database
from app.store.tables import runs
from app.store.turns import StoredJournal

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
    said = [prompt("Hello"), ANSWER, results]
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
    assert await journal.spent() == (Usage(), 0, 0)
    await journal.append("triage/1", 0, prompt("Hello"))
    await journal.append("triage/1", 1, ANSWER)
    await journal.append("implement/1", 0, ANSWER)
    await StoredJournal(store, "2").append("triage/1", 0, ANSWER)
    usage, usd, answers = await journal.spent()
    assert usage == Usage(input=20, output=40, cache_read=60)
    assert (usd, answers) == (0.5, 2)


async def test_a_session_of_another_run_is_another_session(journal, store):
    await journal.append("triage/1", 0, prompt("mine"))
    other = StoredJournal(store, "2")
    assert await other.turns("triage/1") == []
    await other.append("triage/1", 0, prompt("theirs"))
    assert await journal.turns("triage/1") == [prompt("mine")]
