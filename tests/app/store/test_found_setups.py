"""What second looks came to is remembered by repository, and the owners are asked once."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from agents.ports import SetupProposal
from app.records.installations import KnownInstallation, KnownRepository
from app.store.found_setups import VAIN, StoredSetups, list_offers
from app.store.installations.installations import StoredInstallations
from app.store.tables import found_setups, installations
from tests.fakes.requests import build_repository

LIB = build_repository()
GOOD = SetupProposal(reason="`npm ci` failed", commands=("npm install",), checks=("npm test",))
VAINLY = SetupProposal(reason="`npm ci` failed", commands=("yarn",), fault="no lock file")


@pytest.fixture
async def memory(database):
    books = StoredInstallations(database)
    about = {"account_id": 3, "account": "octo", "url": "https://x/1", "permissions": {}}
    await books.keep(KnownInstallation(id=1, since=5, **about))
    place = {"installation_id": 1, "owner": "octo", "default_branch": "main"}
    await books.keep_repositories(1, [KnownRepository(id=LIB.id, name="lib", **place)], whole=True)
    return StoredSetups(database, LIB.id, lambda: 1_000.0)


async def list_names(database):
    return [each.repository.full_name for each in await list_offers(database, 10)]


async def test_what_helped_is_known_for_good_and_offered_once(memory, database):
    assert await memory.recall() is None
    await memory.note(GOOD)
    await memory.note(GOOD)
    assert await StoredSetups(database, LIB.id, lambda: 9e9).recall() == GOOD
    assert await StoredSetups(database, LIB.id + 1).recall() is None
    assert await list_names(database) == ["octo/lib"]

    await memory.settle(40)
    await memory.settle(41)
    assert await list_names(database) == []
    await memory.note(GOOD.model_copy(update={"commands": ("pnpm install",)}))
    assert await list_names(database) == [], "whatever is found later"
    numbers = await database.read(lambda c: list(c.scalars(found_setups.select())))
    assert numbers == [LIB.id]
    assert (await memory.recall()).commands == ("pnpm install",)


async def test_what_was_asked_for_in_vain_is_asked_again_after_a_while(memory, database):
    await memory.note(VAINLY)
    assert await memory.recall() == VAINLY
    assert await list_names(database) == []
    later = StoredSetups(database, LIB.id, lambda: 1_000.0 + VAIN)
    assert await later.recall() is None


@pytest.mark.parametrize("state", ["removed_at", "suspended_at"])
async def test_where_the_app_is_away_nothing_is_offered(memory, database, state):
    await memory.note(GOOD)
    away = update(installations).values({state: 5.0})
    await database.write(lambda c: c.execute(away))
    assert await list_names(database) == []
