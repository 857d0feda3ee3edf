"""The books on SQLite and on PostgreSQL: kept by ids, whatever the names and owners become."""

from __future__ import annotations

import time

import pytest

from agents.run import Outcome
from app.records.installations import KnownInstallation, KnownRepository
from app.store.database import Database
from app.store.installations.installations import StoredInstallations
from app.store.installations.labels import StoredLabels
from app.store.runs.history import History
from app.store.runs.runs import Runs
from tests.fakes.requests import build_repository, build_resolve_issue

HERE = KnownInstallation(
    id=1, account_id=3, account="octo", url="https://x/1", permissions={"issues": "write"}, since=5
)


def repository(ident=9, name="lib", **changes):
    given = {"installation_id": 1, "owner": "octo", "default_branch": "main"} | changes
    return KnownRepository(id=ident, name=name, **given)


def wish(ident=9, installation_id=1):
    return build_resolve_issue(
        installation_id=installation_id, repository=build_repository(id=ident)
    )


@pytest.fixture
async def store(store_url):
    database = Database(store_url)
    yield database
    database.close()


@pytest.fixture
async def books(store):
    made = StoredInstallations(store)
    assert await made.keep(HERE) is None
    await made.keep_repositories(1, [repository()], whole=True)
    return made


async def test_what_is_kept_is_found_again(books):
    known = await books.installation(1)
    assert (known.account, dict(known.permissions)) == ("octo", {"issues": "write"})
    assert known.synced_at > 0
    assert (await books.repository(9)).full_name == "octo/lib"
    assert await books.installation(2) is None
    assert await books.repository(10) is None


async def test_a_suspension_is_lifted_by_what_is_kept_next(books):
    suspended = KnownInstallation(**{**vars(HERE), "suspended_at": 50.0})
    assert (await books.keep(suspended)).suspended_at is None
    assert (await books.keep(HERE)).suspended_at == 50.0
    assert (await books.installation(1)).suspended_at is None


async def test_names_that_were_given_up_are_remembered_and_those_that_came_back_are_not(books):
    for name in ("b", "c", "b"):
        changes = await books.keep_repositories(1, [repository(name=name)], whole=False)
        assert changes.renamed == [9]
    known = await books.repository(9)
    assert (known.full_name, known.former) == ("octo/b", ("octo/lib", "octo/c"))
    await books.was_called(9, "octo/older")
    await books.was_called(9, "octo/b")
    assert (await books.repository(9)).former == ("octo/lib", "octo/c", "octo/older")


async def test_people_find_runs_by_todays_name(books, store):
    await Runs(store).create("0001-run", wish())
    await books.keep_repositories(1, [repository(name="sums")], whole=False)
    assert (await History(store).run("0001-run")).repository == "octo/sums"


async def test_a_repository_that_moves_to_another_installation_is_not_gone_with_the_first(books):
    await books.keep(KnownInstallation(**{**vars(HERE), "id": 2, "account": "two"}))
    moved = repository(installation_id=2, owner="two")
    assert (await books.keep_repositories(2, [moved], whole=True)).new == [9]
    assert (await books.keep_repositories(1, [], whole=True)).gone == []
    known = await books.repository(9)
    assert (known.removed_at, known.former_installations) == (None, (1,))
    await books.remove(1)
    assert (await books.repository(9)).removed_at is None


async def test_what_is_not_listed_any_more_is_gone_and_may_come_back(books):
    assert (await books.keep_repositories(1, [], whole=True)).gone == [9]
    assert (await books.repository(9)).removed_at == pytest.approx(time.time(), abs=60)
    assert (await books.keep_repositories(1, [], whole=True)).gone == []
    assert (await books.keep_repositories(1, [repository()], whole=True)).new == [9]
    assert (await books.repository(9)).removed_at is None


async def test_only_what_is_new_in_it_counts_as_archived(books):
    archived = [repository(archived=True)]
    assert (await books.keep_repositories(1, archived, whole=False)).archived == [9]
    assert (await books.keep_repositories(1, archived, whole=False)).archived == []


async def test_the_live_runs_of_an_installation_are_those_of_what_it_reaches(books, store):
    runs = Runs(store)
    await runs.create("0001-run", wish())
    await runs.create("0002-run", wish(ident=10))  # of which the books know nothing yet
    await runs.create("0003-run", wish(ident=11, installation_id=2))
    await runs.create("0004-run", wish())
    await runs.record_end("0004-run", Outcome(kind="failed", text="No."))
    assert await books.live_runs(installation_id=1) == ["0001-run", "0002-run"]
    assert await books.live_runs(repository_ids=[11]) == ["0003-run"]
    await books.keep(KnownInstallation(**{**vars(HERE), "id": 2}))
    await books.keep_repositories(2, [repository(installation_id=2)], whole=True)
    assert await books.live_runs(installation_id=1) == ["0002-run"]


async def test_whose_a_listed_login_was_is_decided_once(books):
    await books.keep_owner("octo", 3)
    await books.keep_owner("octo", 66)
    assert await books.owners() == {"octo": 3}


async def test_labels_are_due_for_what_is_new_and_can_be_reached(books, store):
    labels, later = StoredLabels(store), time.time() + 1
    more = [repository(), repository(10, "old", archived=True), repository(11, "gone")]
    await books.keep_repositories(1, more, whole=True)
    await books.remove_repository(11)
    assert await labels.list_due_installations(later) == [1]
    assert await labels.due(1, later, 10) == [9]
    await labels.record_pass(9, made=3, again=None, policy_problem="line 1")
    assert (await labels.made_since(1, 0), await labels.made_since(1, later)) == (3, 0)
    assert await labels.list_due_installations(later) == []
    await labels.ask_again(1)
    assert await labels.due(1, later, 10) == [9]
    await books.keep(KnownInstallation(**{**vars(HERE), "suspended_at": 50.0}))
    assert await labels.list_due_installations(later) == []
    await labels.leave(1)
    assert await labels.due(1, later, 10) == []
