"""The table of runs, on SQLite and on PostgreSQL: made once, kept current, ended once."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from agents.ports import PullRequest
from agents.requests import ResolveIssue
from agents.run import Outcome
from app.store.database import Database
from app.store.runs.runs import Runs, count_by_state
from tests.fakes.requests import build_repository, build_resolve_issue


@pytest.fixture
def store(store_url):
    database = Database(store_url)
    yield database
    database.close()


@pytest.fixture
def runs(store):
    return Runs(store)


def wish(number=7, body="`add(1, 1)` gives 3."):
    return build_resolve_issue(
        installation_id=2**40, repository=build_repository(id=2**40), number=number, body=body
    )


async def column(store, name, run_id):
    query = text(f"SELECT {name} FROM runs WHERE id = :id").bindparams(id=run_id)
    return await store.read(lambda connection: connection.scalar(query))


async def test_a_run_is_made_once(runs, store):
    await runs.create("1", wish())
    await runs.record_stage("1", "stage/triage/1")
    await runs.create("1", wish(body="another"))
    assert await store.read(count_by_state) == {"running": 1}
    assert "another" not in await column(store, "request", "1")
    assert await column(store, "lane", "1") == f"{2**40}#7"


async def test_any_text_of_an_issue_can_be_kept(runs):
    odd = "nul \0, half a character \udc9f, \U0001f600 and \N{RIGHT-TO-LEFT OVERRIDE}"
    await runs.create("1", wish(body=odd.replace("\udc9f", "")))
    kept = await runs.request("1")
    assert ResolveIssue.model_validate(kept).body == odd.replace("\udc9f", "")


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("pull_request", "done"),
        ("comment", "done"),
        ("refused", "refused"),
        ("cancelled", "cancelled"),
        ("failed", "failed"),
    ],
)
async def test_an_end_is_kept_word_for_word(runs, store, kind, state):
    pull = PullRequest(
        number=2, url="u", branch="b", head="h", base="m", title="t", body="b\0", draft=False
    )
    outcome = Outcome(kind=kind, text="So it ended.", rule="a-rule", url="u", pull_request=pull)
    await runs.create("1", wish())
    assert await runs.outcome("1") is None
    assert await runs.latest() == ("1", None)
    await runs.record_end("1", outcome)
    assert await runs.outcome("1") == outcome
    assert await runs.latest() == ("1", outcome)
    assert await store.read(count_by_state) == {state: 1}


async def test_unfinished_runs_come_oldest_first_also_those_that_wait_for_people(runs):
    for run_id in ("3", "1", "2", "4"):
        await runs.create(run_id, wish(number=int(run_id)))
    await runs.record_stage("2", "stage/triage/1")
    await runs.record_parked("3", "approval")
    await runs.record_end("4", Outcome(kind="comment", text="."))
    assert await runs.list_unfinished() == ["1", "2", "3"]
    assert await runs.list_unfinished(after="1") == ["2", "3"]
    assert await runs.list_unfinished(after="3") == []


async def test_a_request_is_what_it_was_or_nothing(runs, store):
    await runs.create("1", wish())
    assert (await runs.request("1"))["number"] == 7
    spoil = text("UPDATE runs SET request = '{' WHERE id = '1'")
    await store.write(lambda connection: connection.execute(spoil))
    assert await runs.request("1") is None
    assert await runs.request("unknown") is None


async def test_starts_are_counted_until_the_run_gets_further(runs):
    await runs.create("1", wish())
    assert [await runs.record_start("1") for _ in range(2)] == [1, 2]
    await runs.record_stage("1", "stage/triage/1")
    assert await runs.record_start("1") == 1
    await runs.record_stage("1", "stage/triage/1")
    assert await runs.record_start("1") == 2, "the same step once more is no progress"
    await runs.record_stage("1", "stage/decompose/1")
    assert await runs.record_start("1") == 1


async def test_a_run_that_waits_is_not_to_blame_for_restarts(runs, store):
    await runs.create("1", wish())
    assert not await runs.is_parked("1")
    for _ in range(3):
        assert await runs.record_start("1") == 1
        await runs.record_parked("1", "approval")
        assert await runs.is_parked("1")
    assert await store.read(count_by_state) == {"parked": 1}
    await runs.record_stage("1", "stage/triage/1~1")
    assert not await runs.is_parked("1")


async def test_the_progress_comment_is_remembered(runs):
    await runs.create("1", wish())
    assert await runs.comment_of("1") is None
    await runs.record_comment("1", 2**40)
    assert await runs.comment_of("1") == 2**40
    assert await runs.comment_of("unknown") is None
    assert await runs.outcome("unknown") is None
