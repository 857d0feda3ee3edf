"""`fettle page`: a code that logs in to the pages of this server, and nothing without them."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from agents.errors import ConfigError
from app.cli import page as command
from app.config.system_user import find_operator
from app.store.database import Database
from app.store.pages.logins import PageLogins


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """The variables of a server with pages, its data in a folder of the test."""
    monkeypatch.setenv("FETTLE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("FETTLE_PAGES", "operators")
    return tmp_path


def test_it_prints_a_code_that_logs_in_as_the_user_of_this_machine(settings, sqlite_tables, capsys):
    shutil.copy(sqlite_tables, settings / "fettle.db")
    command.page()
    code, said = capsys.readouterr()

    async def log_in():
        database = Database(f"sqlite:///{settings / 'fettle.db'}")
        logins = PageLogins(database)
        found = await logins.find(await logins.redeem(code))
        database.close()
        return found.name

    assert asyncio.run(log_in()) == find_operator()
    assert "http://127.0.0.1:8081/login" in " ".join(said.split())


def test_without_pages_or_a_server_it_says_what_to_do(settings, monkeypatch):
    with pytest.raises(ConfigError, match="Start `fettle serve` first"):
        command.page()
    monkeypatch.setenv("FETTLE_PAGES", "off")
    with pytest.raises(ConfigError, match="FETTLE_PAGES=operators"):
        command.page()
