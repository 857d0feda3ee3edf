"""The database as the doctor finds it, and what it knows of installations: only looked at."""

from __future__ import annotations

import sqlite3

from sqlalchemy import create_engine, make_url, text

from app.config.settings import Settings, read_settings
from app.doctor.database import database_finding
from app.doctor.registry import RegistryState, policy_findings, read_registry
from app.records.installations import KnownRepository
from app.store.database import Database
from app.store.installations.installations import StoredInstallations
from app.store.installations.labels import StoredLabels


def settings(tmp_path, url=None):
    environ = {"FETTLE_DATA_DIR": str(tmp_path)} | ({"FETTLE_DATABASE_URL": url} if url else {})
    return read_settings(environ).settings


def execute(url, statement):
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_looking_changes_nothing(sqlite_url, tmp_path):
    before = (tmp_path / "fettle.db").read_bytes()
    assert database_finding(settings(tmp_path)).level == "ok"
    assert (tmp_path / "fettle.db").read_bytes() == before


def test_up_to_date(store_url, tmp_path):
    found = database_finding(settings(tmp_path, store_url))
    assert (found.level, "up to date, writable" in found.said) == ("ok", True)


def test_the_password_is_not_shown(postgresql_url, tmp_path):
    wrong = make_url(postgresql_url).set(password="hush-hush").render_as_string(hide_password=False)
    found = database_finding(settings(tmp_path, wrong))
    assert found.level == "failed"
    assert "hush" not in str(found)
    assert "FETTLE_DATABASE_URL" in found.remedy


def test_a_newer_and_an_older_one(store_url, tmp_path):
    execute(store_url, "UPDATE alembic_version SET version_num = 'zzzz'")
    found = database_finding(settings(tmp_path, store_url))
    assert (found.level, "newer Fettle" in found.said) == ("failed", True)
    execute(store_url, "UPDATE alembic_version SET version_num = '0001'")
    found = database_finding(settings(tmp_path, store_url))
    assert (found.level, "older Fettle" in found.said) == ("warning", True)


def test_not_there_yet_and_not_made_by_looking(tmp_path, postgresql):
    assert database_finding(settings(tmp_path)).level == "ok"
    assert list(tmp_path.iterdir()) == []
    empty = database_finding(settings(tmp_path, postgresql.database()))
    assert (empty.level, "no tables yet" in empty.said) == ("ok", True)


def test_out_of_reach(tmp_path):
    found = database_finding(settings(tmp_path, "postgresql://u:hush-hush@127.0.0.1:9/x"))
    assert found.level == "failed"
    assert "hush" not in str(found)


def test_no_database_at_all(tmp_path):
    (tmp_path / "fettle.db").write_bytes(b"this is no database, but a text of some length" * 100)
    found = database_finding(settings(tmp_path))
    assert (found.level, "backup" in found.remedy) == ("failed", True)


def test_read_only_on_postgresql(postgresql_url, tmp_path):
    name = make_url(postgresql_url).database
    execute(postgresql_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    found = database_finding(settings(tmp_path, postgresql_url))
    assert (found.level, "may not write" in found.said) == ("failed", True)


def test_read_only_on_sqlite(sqlite_url, tmp_path, monkeypatch):
    """Root may write to any file, so the driver is told not to."""
    read_only = f"sqlite:///file:{tmp_path}/fettle.db?mode=ro&uri=true"
    engine = create_engine(read_only, connect_args={"isolation_level": None})
    monkeypatch.setattr("app.doctor.database.engine_for", lambda _: engine)
    found = database_finding(settings(tmp_path))
    assert (found.level, "may not write" in found.said) == ("failed", True)


def test_a_server_that_writes_right_now_is_no_fault(sqlite_url, tmp_path, monkeypatch):
    monkeypatch.setattr("app.doctor.database.CONNECT_SECONDS", 0.1)
    other = sqlite3.connect(tmp_path / "fettle.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert database_finding(settings(tmp_path)).level == "ok"
    finally:
        other.close()


async def test_owners_and_policies_that_cannot_be_read(tmp_path):
    settings = Settings(data_dir=tmp_path)
    assert read_registry(settings) == RegistryState()
    assert not (tmp_path / "fettle.db").exists()
    database = Database(settings.database)
    try:
        assert read_registry(settings) == RegistryState()  # no tables yet
        database.migrate()
        stored = StoredInstallations(database)
        await stored.keep_owner("octo", 3)
        lib = KnownRepository(9, 1, "octo", "lib", "main")
        await stored.keep_repositories(1, [lib], whole=False)
        problem = {"made": 0, "again": None, "policy_problem": "Line 1 is odd."}
        await StoredLabels(database).record_pass(9, **problem)
        found = read_registry(settings)
        assert found == RegistryState({"octo": 3}, (("octo/lib", "Line 1 is odd."),))
        [finding] = policy_findings(found.problems)
        assert (finding.about, finding.level) == ("policy of octo/lib", "warning")
    finally:
        database.close()
