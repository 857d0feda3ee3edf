"""Checks that fail on what Fettle pushed are looked at by one run for each commit."""

from __future__ import annotations

import json

import pytest

from agents.errors import TransientError
from agents.ports import Batch
from agents.run import Outcome
from app.store.handled_feedback import Batches
from app.store.runs.runs import Runs
from app.webhooks.dispatcher import MENDED, MENDING, NOT_OURS
from app.webhooks.receiver import Delivery
from tests.fakes.requests import build_address_review, build_repository

HEAD = "a" * 40


@pytest.fixture
def fail(inbox, sender):
    """Put into the inbox that checks have failed on the head of pull request 31."""

    async def insert_failure(ident, *, head=HEAD, branch="bot/9-fix"):
        repository = {**sender.payload()["repository"], "html_url": "https://x.example/octo/hello"}
        base = {"repo": {"id": repository["id"]}}
        suite = {
            "head_sha": head,
            "head_branch": branch,
            "conclusion": "failure",
            "pull_requests": [{"number": 31, "base": base, "head": {"sha": head}}],
        }
        payload = {**sender.payload(action="completed"), "repository": repository}
        body = json.dumps({**payload, "check_suite": suite}).encode()
        await inbox.store(Delivery(ident, "check_suite", "completed", 1, f"h{ident}", body))

    return insert_failure


async def test_of_many_checks_that_fail_on_a_commit_one_run_looks(
    dispatcher, fail, take, engine, states
):
    for number in range(5):
        await fail(f"d{number}")
    await fail("d9", head="b" * 40)
    await dispatcher.dispatch_batch()
    assert engine.numbers == [31, 31]
    notes = {ident: note for ident, _, note in await states()}
    assert [notes[f"d{number}"] for number in range(5)] == [None, *[MENDING] * 4]
    assert notes["d9"] is None, "that is another commit"


async def test_those_that_fail_after_its_end_are_looked_at_again(
    dispatcher, fail, take, engine, database
):
    """GitHub lets a check be run again; whether that is covered the run's admission decides."""
    await fail("d1")
    await dispatcher.dispatch_batch()
    [(run_id, _)] = engine.taken
    await Runs(database).record_end(run_id, Outcome(kind="covered", text="So it was."))
    await fail("d2")
    await dispatcher.dispatch_batch()
    assert len(engine.taken) == 2


async def test_a_crash_between_making_the_run_and_handing_it_over_loses_nothing(
    dispatcher, fail, engine, database, states
):
    """The row of its own run must not stand in its way."""
    submit = engine.submit

    async def fail_once(run_id, request):
        await Runs(database).create(run_id, request)
        engine.submit = submit
        raise TransientError("the process dies here")

    engine.submit = fail_once
    await fail("d1")
    with pytest.raises(TransientError):
        await dispatcher.dispatch_batch()
    await dispatcher.dispatch_batch()
    assert engine.numbers == [31]
    assert [state for _, state, _ in await states()] == ["dispatched"]


async def test_what_people_have_pushed_is_theirs(dispatcher, fail, engine, database, states):
    await fail("d1", branch="topic")
    await dispatcher.dispatch_batch()
    assert engine.taken == []
    assert [note for *_, note in await states()] == [NOT_OURS]


@pytest.mark.parametrize("branch", ["dependabot/npm_and_yarn/semver-7.5.2", "renovate/semver"])
async def test_those_of_other_bots_updates_are_looked_at(dispatcher, fail, engine, branch):
    await fail("d1", branch=branch)
    await dispatcher.dispatch_batch()
    assert engine.numbers == [31]


@pytest.fixture
async def addressing(database):
    """A run that addresses reviews of pull request 31."""
    request = build_address_review(repository=build_repository(id=99, name="hello"))
    await Runs(database).create("0-run", request)
    return request


async def test_but_on_their_branches_fettle_pushes_as_well(
    dispatcher, fail, addressing, engine, database
):
    batch = Batch(kind="reviews", head="c" * 40, pushed=HEAD)
    await Batches(database).remember("0-run", addressing, batch)
    await Runs(database).record_end("0-run", Outcome(kind="comment", text="Done."))
    await fail("d1", branch="topic")
    await fail("d2", branch="topic", head="d" * 40)
    await dispatcher.dispatch_batch()
    assert engine.numbers == [31]


async def test_a_run_that_has_pushed_may_not_have_said_so_yet(
    dispatcher, fail, addressing, engine, states
):
    """It answers every thread first; quick checks have failed by then."""
    await fail("d1", branch="topic")
    await dispatcher.dispatch_batch()
    assert engine.numbers == [31]


async def test_those_that_were_dealt_with_make_no_run_at_all(
    dispatcher, fail, addressing, database, states
):
    batch = Batch(kind="checks", head=HEAD)
    await Batches(database).remember("0-run", addressing, batch)
    await Runs(database).record_end("0-run", Outcome(kind="comment", text="They are flaky."))
    await fail("d1")
    await dispatcher.dispatch_batch()
    assert [(state, note) for _, state, note in await states()] == [("ignored", MENDED)]
