"""Deciding on the page: the same decision as elsewhere, on the call that was looked at, once."""

from __future__ import annotations

import pytest


async def decide(browser, ident, **form):
    await browser.get(f"/approvals/{ident}")
    return await browser.post(f"/approvals/{ident}", **form)


@pytest.fixture
async def asked(pages):
    """A call that waits for a decision."""
    await pages.run("0001-a", state="parked")
    return await pages.ask("0001-a")


async def test_a_yes_is_kept_with_who_said_it_and_how(pages, asked):
    async with pages.logged_in(name="ada") as browser:
        _, before = await browser.get(f"/approvals/{asked.id}")
        got, _ = await decide(browser, asked.id, verdict="approve", digest=asked.binding[:6])
        _, after = await browser.get(f"/approvals/{asked.id}")

    stored = await pages.approvals.get(asked.id)
    assert asked.binding[:6] in before
    assert asked.asking.head in before
    assert got.status == 303
    assert (stored.state, stored.decided_by, stored.decided_by_id) == ("approved", "ada", None)
    assert stored.decided_via == "page"
    assert "approved by ada" in after
    assert f'action="/approvals/{asked.id}"' not in after


async def test_a_no_needs_no_mark_and_carries_its_reason(pages, asked):
    async with pages.logged_in() as browser:
        await decide(browser, asked.id, verdict="deny", reason="Not in here")

    stored = await pages.approvals.get(asked.id)
    assert (stored.state, stored.reason) == ("denied", "Not in here")


@pytest.mark.parametrize("digest", ["", "000000", "abc"])
async def test_a_yes_without_the_mark_of_this_call_is_none(pages, asked, digest):
    async with pages.logged_in() as browser:
        got, text = await decide(browser, asked.id, verdict="approve", digest=digest)

    assert got.status == 409
    assert "another call" in text
    assert (await pages.approvals.get(asked.id)).state == "waiting"


async def test_once_the_work_has_moved_on_the_older_call_cannot_be_approved(pages, asked):
    await pages.ask("0001-a", head="b" * 40)
    async with pages.logged_in() as browser:
        got, _ = await decide(browser, asked.id, verdict="approve", digest=asked.binding[:6])

    assert got.status == 409
    assert (await pages.approvals.get(asked.id)).state == "void"


async def test_the_first_answer_counts(pages, asked):
    await pages.approvals.decide(asked.id, verdict="denied", by="bob", by_id=7, via="comment")
    async with pages.logged_in() as browser:
        got, text = await decide(browser, asked.id, verdict="approve", digest=asked.binding[:6])

    assert got.status == 409
    assert "was denied by bob" in text
    assert (await pages.approvals.get(asked.id)).decided_by == "bob"


async def test_an_expired_one_cannot_be_approved(pages):
    await pages.run("0001-a", state="parked")
    late = await pages.ask("0001-a", days=-1)
    async with pages.logged_in() as browser:
        got, text = await decide(browser, late.id, verdict="approve", digest=late.binding[:6])

    assert got.status == 409
    assert "expired" in text


async def test_nothing_but_the_two_verdicts_is_taken(pages, asked):
    async with pages.logged_in() as browser:
        got, _ = await decide(browser, asked.id, verdict="approved", digest=asked.binding[:6])
        gone, _ = await browser.get("/approvals/zzzzzz")

    assert (got.status, gone.status) == (400, 404)
    assert (await pages.approvals.get(asked.id)).state == "waiting"
