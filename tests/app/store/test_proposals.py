"""When something is proposed of what people said, and what is never proposed again."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import update

from agents.requests import Repository
from agents.run import Outcome
from app.records.installations import KnownInstallation, KnownRepository
from app.store.ended_pulls import EndedPulls
from app.store.installations.installations import StoredInstallations
from app.store.proposals import FORGOTTEN, MONTH, Proposals
from app.store.runs import Runs, StoredApprovals
from app.store.tables import installations, runs
from handlers.notifications import PullClosed
from tests.app.commands.answering_scene import make_asking
from tests.fakes.requests import (
    build_address_review,
    build_propose_guidance,
    build_repository,
    build_resolve_issue,
    build_revert_change,
)

LIB = build_repository()
DONE = Outcome(kind="comment", text="Done.")


@pytest.fixture
async def store(database):
    books = StoredInstallations(database)
    await books.keep(
        KnownInstallation(
            id=1, account_id=3, account="octo", url="https://x/1", permissions={}, since=5
        )
    )
    place = {"installation_id": 1, "owner": "octo", "default_branch": "main"}
    await books.keep_repositories(1, [KnownRepository(id=LIB.id, name="lib", **place)], whole=True)
    return Runs(database)


async def review(store, *numbers):
    for number in numbers:
        ident = f"review-{number}"
        await store.create(ident, build_address_review(number=number))
        await store.record_end(ident, DONE)


async def list_due(database, *, after=0.0):
    proposals = Proposals(database, clock=lambda: time.time() + after)
    return [each.repository.full_name for each in await proposals.list_due(3, 10)]


async def end(database, number, *, merged):
    notice = PullClosed(
        installation_id=1,
        repository=LIB,
        number=number,
        merged=merged,
        base="main",
        commit="c" * 40,
    )
    await EndedPulls(database).note(notice)


async def test_it_is_due_once_people_had_enough_to_say(store, database):
    await review(store, 7, 8)
    await store.create(
        "other",
        build_address_review(
            repository=Repository(id=LIB.id + 1, owner="octo", name="other", default_branch="main"),
            number=9,
        ),
    )
    await store.record_end("other", DONE)
    assert await list_due(database) == []
    await store.create("undo", build_revert_change(number=9))
    await store.record_end("undo", Outcome(kind="pull_request", text="Taken back."))
    assert await list_due(database) == [LIB.full_name]
    assert await list_due(database, after=100 * 86_400.0) == [], "all of it is long ago"


@pytest.mark.parametrize("by_id", [4, None])
async def test_what_people_on_github_denied_counts(store, database, by_id):
    await review(store, 7, 8)
    await store.create("asks", build_resolve_issue())
    approvals = StoredApprovals(database)
    asked = await approvals.ask_once("asks", make_asking())
    assert await list_due(database) == []
    await approvals.decide(asked.id, verdict="denied", by="ada", by_id=by_id, via="comment")
    assert await list_due(database) == ([LIB.full_name] if by_id else [])
    found = await Proposals(database).list_decided(LIB.id)
    assert [each.id for each in found] == ([asked.id] if by_id else [])


async def test_it_is_looked_at_once_a_month_and_while_people_have_not_decided_not_at_all(
    store, database
):
    await review(store, 7, 8, 9)
    await store.create("guided", build_propose_guidance())
    assert await list_due(database) == []
    assert await list_due(database, after=MONTH + 60) == [LIB.full_name]
    await Proposals(database).remember("guided", LIB.id, 40, ["Use tuples."], ["remark:a"])
    assert await list_due(database, after=MONTH + 60) == []
    await end(database, 40, merged=False)
    assert await list_due(database, after=MONTH + 60) == [LIB.full_name]


async def test_one_of_whose_end_nobody_heard_holds_up_others_for_a_year_at_most(store, database):
    await store.create("guided", build_propose_guidance())
    await Proposals(database).remember("guided", LIB.id, 40, ["Use tuples."], [])
    old = update(runs).values(created_at=time.time())
    await database.write(lambda c: c.execute(old))
    later = time.time() + FORGOTTEN + 60
    await review(store, 7, 8, 9)
    await database.write(
        lambda c: c.execute(
            update(runs).where(runs.c.kind == "address_review").values(created_at=later - 60)
        )
    )
    assert await list_due(database, after=FORGOTTEN - 60) == []
    assert await list_due(database, after=FORGOTTEN + 60) == [LIB.full_name]


@pytest.mark.parametrize("state", ["removed_at", "suspended_at"])
async def test_where_the_app_is_away_nothing_is_due(store, database, state):
    await review(store, 7, 8, 9)
    away = update(installations).values({state: 5.0})
    await database.write(lambda c: c.execute(away))
    assert await list_due(database) == []


async def test_what_was_used_and_what_was_declined_is_known_for_good(store, database):
    proposals = Proposals(database)
    for ident, number in (("one", 40), ("two", 41), ("three", 42)):
        await store.create(ident, build_propose_guidance())
        await proposals.remember(ident, LIB.id, number, [f"Line of {ident}."], [f"remark:{ident}"])
    await proposals.remember("one", LIB.id, 99, ["Another."], [])  # as after a kill
    await end(database, 40, merged=False)
    await end(database, 41, merged=True)
    assert await proposals.list_declined(LIB.id) == ["Line of one."]
    assert await proposals.list_used(LIB.id) == {"remark:one", "remark:two", "remark:three"}
    assert await proposals.list_used(LIB.id + 1) == set()
