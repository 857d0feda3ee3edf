"""Who holds a database knows who else is at work on it, under whatever name."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from agents.errors import ConfigError
from app.cli.setup.rotate import _require_one_server
from app.cli.storage.database_lock import Rewritten, hold_database, rewrite_database
from app.cli.storage.databases import RunDatabase
from app.config.settings import load_settings
from app.secrets.encryption import OPEN
from app.store.database import Database
from app.store.process_lock import Claim


@pytest.fixture
def settings(tmp_path, store_url):
    """The operator's, in the name of the server that is called fettle."""
    given = {"ANTHROPIC_API_KEY": "sk", "FETTLE_DATA_DIR": str(tmp_path)}
    found = load_settings(given, serving=False)
    return found.model_copy(update={"database_url": SecretStr(store_url)})


@pytest.fixture
def place(tmp_path, store_url):
    return RunDatabase(store_url, tmp_path, clone=False, cipher=OPEN)


async def begin_server(url, worker):
    """Do what a server does when it begins."""
    database = Database(url)
    database.migrate(worker)
    database.close()
    claim = Claim(url, worker, patience=0)
    await claim.take()
    return claim


async def test_with_nobody_at_work_it_is_held_alone(settings, place, store_url):
    await (await begin_server(store_url, "fettle")).release()
    await (await begin_server(store_url, "another")).release()
    async with hold_database(settings, place) as (database, alone):
        assert alone
        assert await rewrite_database(database, alone=alone) is Rewritten.WHOLE


async def test_a_server_of_our_name_is_seen(settings, place, store_url):
    server = await begin_server(store_url, "fettle")
    async with hold_database(settings, place) as (_, alone):
        assert not alone
    await server.release()


async def test_a_server_of_another_name_is_seen_and_no_secret_is_replaced(tmp_path, postgresql_url):
    given = {"ANTHROPIC_API_KEY": "sk", "FETTLE_DATA_DIR": str(tmp_path)}
    settings = load_settings(given | {"FETTLE_DATABASE_URL": postgresql_url}, serving=False)
    place = RunDatabase(postgresql_url, tmp_path, clone=False, cipher=OPEN)
    server = await begin_server(postgresql_url, "another")
    async with hold_database(settings, place) as (_, alone):
        assert not alone
    with pytest.raises(ConfigError, match=r"Other servers share the database \(another\)"):
        await _require_one_server(settings)
    await server.release()
    await _require_one_server(settings)


async def test_a_large_file_is_not_rewritten_beside_a_server(sqlite_url):
    class Large(Database):
        async def slack(self):
            return 0, 2**40

        async def compact(self, *, rewrite=True):
            asked.append(rewrite)
            return True

    asked = []
    database = Large(sqlite_url)
    assert await rewrite_database(database, alone=False) is Rewritten.LATER
    assert await rewrite_database(database, alone=True) is Rewritten.WHOLE
    assert asked == [False, True]
    database.close()
