"""The table of approvals, on SQLite and on PostgreSQL: asked once, decided once, for good."""

from __future__ import annotations

import asyncio
import time

import pytest
from sqlalchemy import text

from agents.errors import RunError
from agents.ports import ApprovalRequest
from agents.run import Outcome
from app.store.database import Database
from app.store.runs.approvals import ALPHABET, DAY, StoredApprovals
from app.store.runs.runs import Runs
from tests.fakes.requests import build_repository, build_resolve_issue

MARA = {"by": "mara", "by_id": 2**40, "via": "comment"}


@pytest.fixture
async def store(store_url):
    database = Database(store_url)
    for run_id in ("run-1", "run-2"):
        await Runs(database).create(
            run_id, build_resolve_issue(repository=build_repository(id=2**40))
        )
    yield database
    database.close()


@pytest.fixture
def approvals(store):
    return StoredApprovals(store)


def make_asking(**changes):
    about = {
        "call_id": "3.0/toolu_1",
        "session": "implement/1",
        "stage": "implement/1",
        "tool": "bash",
        "arguments": {"command": "git reset --hard", "timeout": 1.5},
        "rule": "git/discards",
        "reason": "It throws away changes.",
        "head": "a" * 40,
    }
    return ApprovalRequest(**{**about, **changes})


async def spoil(store, change, **values):
    await store.write(lambda c: c.execute(text(f"UPDATE approvals SET {change}"), values))


async def test_the_same_call_is_asked_once(approvals):
    first = await approvals.ask_once("run-1", make_asking())
    again = await approvals.ask_once("run-1", make_asking(rule="another", reason="newer words"))
    assert first == again
    assert first.state == "waiting"
    assert first.asking == make_asking()
    assert (first.repository, first.number) == ("octo/lib", 7)
    assert len(first.id) == 6
    assert set(first.id) <= set(ALPHABET)


async def test_every_call_session_and_run_has_its_own(approvals):
    rows = [
        await approvals.ask_once("run-1", make_asking()),
        await approvals.ask_once("run-1", make_asking(call_id="3.1/toolu_1")),
        await approvals.ask_once("run-1", make_asking(session="implement/2")),
        await approvals.ask_once("run-2", make_asking()),
    ]
    assert len({row.id for row in rows}) == 4
    assert [row.id for row in await approvals.of_run("run-1")] == [row.id for row in rows[:3]]
    assert [row.id for row in await approvals.list_waiting()] == [row.id for row in rows]


async def test_an_id_that_is_taken_is_not_given_twice(approvals, store):
    first = await approvals.ask_once("run-1", make_asking())
    await spoil(store, "run_id = 'run-2', call_id = 'other'")
    second = await approvals.ask_once("run-1", make_asking())
    assert second.id != first.id
    assert await approvals.ask_once("run-1", make_asking()) == second


async def test_any_text_can_be_kept(approvals):
    odd = {"command": "printf '\\0' \udc9f \U0001f600"}
    row = await approvals.ask_once("run-1", make_asking(arguments=odd, reason="nul \0 and \udc9f"))
    assert row.asking.arguments == odd
    said = await approvals.decide(row.id, verdict="denied", reason="no \0 \udc9f", **MARA)
    assert said.approval.reason == "no  ?"


# --- decisions ----------------------------------------------------------------------------------


async def test_a_decision_is_kept_with_who_made_it(approvals):
    row = await approvals.ask_once("run-1", make_asking())
    said = await approvals.decide(row.id, verdict="denied", reason="not today", **MARA)
    assert said.counted
    stored = await approvals.get(row.id)
    assert stored == said.approval
    assert (stored.state, stored.decided_by, stored.reason) == ("denied", "mara", "not today")
    assert stored.approval.binding == make_asking().binding
    assert stored.standing.startswith("was denied by mara on 20")
    assert await approvals.ask_once("run-1", make_asking()) == stored


@pytest.mark.parametrize("later", ["approved", "denied"])
async def test_only_the_first_answer_counts(approvals, later):
    row = await approvals.ask_once("run-1", make_asking())
    await approvals.decide(row.id, verdict="denied", reason="no", **MARA)
    other = {**MARA, "by": "ada"}
    said = await approvals.decide(row.id, verdict=later, reason="but", **other)
    assert not said.counted
    assert (said.approval.state, said.approval.decided_by) == ("denied", "mara")
    assert said.approval.reason == "no"


async def test_of_many_answers_at_once_one_counts(approvals):
    row = await approvals.ask_once("run-1", make_asking())
    people = [{**MARA, "by": f"person-{n}"} for n in range(8)]
    verdicts = ["approved", "denied"] * 4
    said = await asyncio.gather(
        *(
            approvals.decide(row.id, verdict=verdict, **person)
            for verdict, person in zip(verdicts, people, strict=True)
        )
    )
    [first] = [each.approval for each in said if each.counted]
    assert await approvals.get(row.id) == first
    assert {each.approval.decided_by for each in said} == {first.decided_by}


async def test_an_answer_to_nothing_is_none(approvals):
    assert await approvals.decide("zzzzzz", verdict="approved", **MARA) is None
    assert await approvals.get("zzzzzz") is None


async def test_an_answer_that_comes_too_late_finds_it_expired(approvals):
    row = await approvals.ask_once("run-1", make_asking(days=1))
    late = time.time() + DAY + 1
    said = await approvals.decide(row.id, verdict="approved", now=late, **MARA)
    assert not said.counted
    assert said.approval.state == "expired"
    assert said.approval.decided_by == ""


async def test_what_nobody_answers_in_time_expires(approvals):
    short = await approvals.ask_once("run-1", make_asking(days=1))
    long = await approvals.ask_once("run-2", make_asking(days=3))
    assert await approvals.expire() == 0
    assert await approvals.expire(time.time() + 2 * DAY) == 1
    assert (await approvals.get(short.id)).state == "expired"
    assert (await approvals.get(long.id)).state == "waiting"


async def test_asked_again_after_its_time_it_has_expired(approvals, store):
    row = await approvals.ask_once("run-1", make_asking())
    await spoil(store, "asked_at = asked_at - :week, expires_at = expires_at - :week", week=8 * DAY)
    assert await approvals.all_decided([row.id])
    assert (await approvals.ask_once("run-1", make_asking())).state == "expired"
    assert await approvals.list_waiting() == []


async def test_settled_means_that_none_of_them_waits(approvals):
    rows = [
        await approvals.ask_once("run-1", make_asking()),
        await approvals.ask_once("run-1", make_asking(call_id="3.1/toolu_1")),
    ]
    ids = [row.id for row in rows]
    assert not await approvals.all_decided(ids)
    await approvals.decide(ids[0], verdict="approved", **MARA)
    assert not await approvals.all_decided(ids)
    await approvals.void(ids[1], "the branch has moved")
    assert await approvals.all_decided(ids)


async def test_what_is_void_cannot_be_approved(approvals):
    row = await approvals.ask_once("run-1", make_asking())
    assert await approvals.void(row.id, "the branch has moved")
    said = await approvals.decide(row.id, verdict="approved", **MARA)
    assert (said.counted, said.approval.state) == (False, "void")
    assert not await approvals.void(row.id, "another reason")
    assert (await approvals.get(row.id)).reason == "the branch has moved"


async def test_what_was_decided_is_found_by_when(approvals):
    first = await approvals.ask_once("run-1", make_asking())
    second = await approvals.ask_once("run-2", make_asking())
    await approvals.decide(first.id, verdict="approved", now=1000.0, **MARA)
    await approvals.decide(second.id, verdict="denied", now=2000.0, **MARA)
    assert await approvals.decided_since(1500.0) == [(second.id, "run-2")]
    assert len(await approvals.decided_since(1000.0)) == 2


async def test_it_is_claimed_once_which_leaves_the_decision_and_its_time(approvals):
    row = await approvals.ask_once("run-1", make_asking())
    await approvals.decide(row.id, verdict="approved", **MARA)
    other = await approvals.ask_once("run-2", make_asking())
    assert await approvals.claim([row.id]) == [row.id]
    used = await approvals.get(row.id)
    assert await approvals.claim([row.id, other.id]) == [other.id]
    assert used.used_at is not None
    assert await approvals.get(row.id) == used


# --- what must not count ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [{"head": "b" * 40}, {"arguments": {"command": "rm -rf src"}}, {"tool": "write"}]
)
@pytest.mark.parametrize("decided", [False, True])
async def test_a_call_that_became_another_has_no_approval(approvals, change, decided):
    row = await approvals.ask_once("run-1", make_asking())
    if decided:
        await approvals.decide(row.id, verdict="approved", **MARA)
    now = await approvals.ask_once("run-1", make_asking(**change))
    assert (now.id, now.state) == (row.id, "void")
    assert "moved on" in now.reason
    assert (await approvals.ask_once("run-1", make_asking())).state == "void"


async def test_a_denial_of_what_became_another_call_stays_a_denial(approvals):
    row = await approvals.ask_once("run-1", make_asking())
    await approvals.decide(row.id, verdict="denied", **MARA)
    assert (await approvals.ask_once("run-1", make_asking(head="b" * 40))).state == "denied"


@pytest.mark.parametrize(
    "damage",
    [
        "arguments = '{'",
        """arguments = '{"command": "make test"}'""",
        "binding = 'x'",
        "tool = 'write'",
        "head = 'b'",
    ],
)
async def test_a_damaged_record_is_no_approval(approvals, store, damage):
    row = await approvals.ask_once("run-1", make_asking())
    await approvals.decide(row.id, verdict="approved", **MARA)
    await spoil(store, damage)
    assert (await approvals.get(row.id)).asking is None
    assert len(await approvals.of_run("run-1")) == 1
    with pytest.raises(RunError, match=f"approval `{row.id}` is damaged"):
        await approvals.ask_once("run-1", make_asking())


async def test_when_a_run_ends_its_questions_are_void(approvals, store):
    waiting = await approvals.ask_once("run-1", make_asking())
    denied = await approvals.ask_once("run-1", make_asking(call_id="3.1/toolu_1"))
    other = await approvals.ask_once("run-2", make_asking())
    await approvals.decide(denied.id, verdict="denied", **MARA)
    await Runs(store).record_end("run-1", Outcome(kind="failed", text="It failed."))
    assert (await approvals.get(waiting.id)).standing.startswith("became void on ")
    assert (await approvals.get(waiting.id)).reason == "the run has ended"
    assert (await approvals.get(denied.id)).state == "denied"
    assert [each.id for each in await approvals.list_waiting()] == [other.id]
