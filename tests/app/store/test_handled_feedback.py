"""The table of batches, on SQLite and on PostgreSQL: what runs have dealt with."""

from __future__ import annotations

import pytest

from agents.ports import Batch
from agents.run import Outcome
from app.store.database import Database
from app.store.handled_feedback import Batches
from app.store.runs.runs import Runs
from tests.fakes.requests import (
    build_address_review,
    build_fix_checks,
    build_repository,
    build_update_branch,
)

HEAD, PUSHED = "a" * 40, "b" * 40
LIB = build_repository(id=2**40)
REVIEW = build_address_review(repository=LIB, review_id=2**40 + 7)
CHECKS = build_fix_checks(repository=LIB, head=PUSHED)
BATCH = Batch(
    kind="reviews", head=HEAD, pushed=PUSHED, reviews=(5, 2**40 + 7), newest_remark=2**40 + 9
)


@pytest.fixture
async def batches(store_url):
    database = Database(store_url)
    for run_id in ("0001-run", "0002-run"):
        await Runs(database).create(run_id, REVIEW)
    yield Batches(database)
    database.close()


async def test_what_was_dealt_with_is_known_to_the_runs_after_it(batches):
    await batches.remember("0001-run", REVIEW, BATCH)
    await batches.remember("0002-run", CHECKS, Batch(kind="checks", head=PUSHED))
    first, second = await batches.list_of_pull(2**40, 31)
    assert (first, second.kind, second.reviews) == (BATCH, "checks", ())


async def test_it_is_of_one_pull_request_of_one_repository(batches):
    await batches.remember("0001-run", REVIEW, BATCH)
    assert await batches.list_of_pull(2**40, 32) == ()
    assert await batches.list_of_pull(2**40 + 1, 31) == ()


async def test_a_run_has_one_and_its_later_word_stands(batches):
    """A crash between the push and what it is the answer to is mended by doing it once more."""
    await batches.remember("0001-run", REVIEW, BATCH.model_copy(update={"pushed": ""}))
    await batches.remember("0001-run", REVIEW, BATCH)
    assert await batches.list_of_pull(2**40, 31) == (BATCH,)


async def test_a_review_is_covered_by_another_run_but_not_by_ones_own(batches):
    await batches.remember("0001-run", REVIEW, BATCH)
    assert await batches.covers("0002-run", REVIEW)
    assert not await batches.covers("0001-run", REVIEW)
    other = REVIEW.model_copy(update={"review_id": 6})
    assert not await batches.covers("0002-run", other)
    by_command = REVIEW.model_copy(update={"review_id": 0, "via": "command"})
    assert not await batches.covers("0002-run", by_command)


@pytest.mark.parametrize(("end", "covered"), [("failed", True), ("cancelled", False)])
async def test_a_run_that_failed_is_not_begun_again_but_one_called_back_leaves_the_rest(
    batches, store_url, end, covered
):
    await batches.remember("0001-run", REVIEW, BATCH.model_copy(update={"kept_back": True}))
    assert await batches.covers("0002-run", REVIEW), "while it is at work"
    database = Database(store_url)
    await Runs(database).record_end("0001-run", Outcome(kind=end, text="So it ended."))
    assert await batches.covers("0002-run", REVIEW) == covered
    await batches.remember("0001-run", REVIEW, BATCH)
    assert await batches.covers("0002-run", REVIEW), "what was answered stays answered"
    database.close()


async def test_checks_are_covered_once_a_run_has_looked_at_them_on_that_commit(batches):
    await batches.remember("0001-run", REVIEW, BATCH)
    assert not await batches.covers("0002-run", CHECKS), "it was pushed, not looked at"
    await batches.remember("0001-run", CHECKS, Batch(kind="checks", head=PUSHED))
    assert await batches.covers("0002-run", CHECKS)
    assert not await batches.covers("0002-run", CHECKS.model_copy(update={"head": HEAD}))


async def test_an_update_is_never_covered(batches):
    await batches.remember("0001-run", REVIEW, BATCH)
    assert not await batches.covers("0002-run", build_update_branch(repository=LIB))


async def test_what_was_pushed_is_known_by_its_commit(batches):
    await batches.remember("0001-run", REVIEW, BATCH)
    assert await batches.has_pushed(CHECKS, PUSHED)
    assert not await batches.has_pushed(CHECKS, HEAD)
    assert not await batches.has_pushed(CHECKS, "")
    await batches.remember("0002-run", CHECKS, Batch(kind="checks", head=PUSHED))
    assert not await batches.has_pushed(CHECKS, ""), "that nothing was pushed is no commit"


async def test_whether_a_change_was_made_for_failing_checks_is_known(batches):
    await batches.remember("0001-run", REVIEW, BATCH)
    await batches.remember("0002-run", CHECKS, Batch(kind="checks", head=PUSHED))
    assert not await batches.has_mended(2**40, 31)
    await batches.remember("0002-run", CHECKS, Batch(kind="checks", head=HEAD, pushed=PUSHED))
    assert await batches.has_mended(2**40, 31)
    assert not await batches.has_mended(2**40, 32)
