"""The database: private file, one writer, migrations that give what the tables say."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import stat
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, create_engine, insert, inspect, make_url, select
from sqlalchemy.exc import IntegrityError, OperationalError

from agents.errors import ConfigError, TransientError
from app.store import database as module
from app.store import migrations
from app.store.database import (
    Database,
    DatabaseAway,
    describe_trouble,
    engine_options,
    sqlite_module,
)
from app.store.process_lock import Claim
from app.store.tables import deliveries, metadata
from tests.patience import PATIENCE

ROW = {
    "id": "one",
    "run_id": "0001-one",
    "event": "issues",
    "action": "labeled",
    "digest": "d",
    "body": b"{}",
    "state": "received",
    "received_at": 1.0,
}


@pytest.fixture
def database(tmp_path):
    """A file of SQLite that holds our tables alone: the file itself is what is tested here."""
    made = Database(f"sqlite:///{tmp_path / 'fettle.db'}")
    made.migrate()
    yield made
    made.close()


def count(connection):
    return connection.exec_driver_sql("SELECT count(*) FROM deliveries").scalar()


async def test_opened_twice_in_one_process_it_outlives_what_another_process_closes(tmp_path):
    url = f"sqlite:///{tmp_path / 'fettle.db'}"
    first = Database(url)
    first.migrate()
    await first.write(count)  # its connection stays open, and holds the file's locks
    second = Database(url)
    looks = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).close())"
    other = ("-c", looks, tmp_path / "fettle.db", "SELECT * FROM deliveries")
    try:
        assert await (await asyncio.create_subprocess_exec(sys.executable, *other)).wait() == 0
        assert (tmp_path / "fettle.db-wal").exists(), "the other process took itself for the last"
        await first.write(lambda connection: connection.execute(insert(deliveries), ROW))
        assert await second.read(count) == 1
    finally:
        first.close()
        second.close()


def test_migrations_give_the_shape_of_the_tables(database):
    with database.engine.connect() as connection:
        assert set(inspect(connection).get_table_names()) >= set(metadata.tables)
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_change_of_the_tables_without_migration_is_seen(database):
    with database.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE deliveries DROP COLUMN note")
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, metadata) != []


async def test_migrating_again_changes_nothing(database):
    await database.write(lambda c: c.execute(insert(deliveries), ROW))
    database.migrate()
    assert await database.read(count) == 1


async def test_tables_of_a_newer_fettle_that_took_something_away_are_left_alone(database):
    newer = "UPDATE alembic_version SET version_num='x9'"
    await database.write(lambda c: c.exec_driver_sql(newer))
    database.migrate()  # nothing was taken away: this version works on them
    gone = "INSERT INTO contractions VALUES ('x8')"
    await database.write(lambda c: c.exec_driver_sql(gone))
    with pytest.raises(ConfigError, match=r"of a newer Fettle \(its tables are at x9.*restore the"):
        database.migrate()


LAST = "0015"
"""The revision of the last version whose workers may work beside those of this one."""


def test_the_statements_of_the_last_version_work_on_the_tables_of_this_one(store_url):
    """What an expanding migration adds may be absent, and nothing that was there is gone."""
    older = MetaData()
    plain = create_engine("sqlite://")
    with plain.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(Path(migrations.__file__).parent))
        config.attributes["connection"] = connection
        command.upgrade(config, LAST)
        older.reflect(connection)
    plain.dispose()
    ordered = [each for each in older.sorted_tables if each.name != "alembic_version"]
    assert len(ordered) > 15
    engine = create_engine(store_url)
    with engine.begin() as connection:
        for table in ordered:
            connection.execute(insert(table).values(sample_row(table)))
        for table in reversed(ordered):
            key, value = next(iter(sample_row(table).items()))
            here = table.c[key] == value
            assert len(connection.execute(select(table).where(here)).all()) == 1, table.name
            assert connection.execute(table.update().where(here).values({key: value})).rowcount
            assert connection.execute(table.delete().where(here)).rowcount == 1
    engine.dispose()


def sample_row(table):
    """A value for each column, by its type; the same in each table, so that keys lead somewhere."""
    by_type = {str: "1", int: 1, float: 1.0, bool: False, bytes: b"1"}
    return {column.name: by_type[column.type.python_type] for column in table.columns}


async def test_file_and_its_companions_are_private(database, tmp_path):
    await database.write(lambda c: c.execute(insert(deliveries), ROW))
    files = list(tmp_path.glob("fettle.db*"))
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


async def test_pragmas_hold_in_every_connection(database):
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10_000}
    for name, value in wanted.items():
        for run in (database.read, database.write):
            assert (
                await run(lambda c, name=name: c.exec_driver_sql(f"PRAGMA {name}").scalar())
            ) == value


async def test_a_failed_write_leaves_nothing(database):
    def half(connection):
        connection.execute(insert(deliveries), ROW)
        raise KeyError("no")

    with pytest.raises(KeyError):
        await database.write(half)
    assert await database.read(count) == 0


async def test_writes_run_one_after_the_other_in_one_thread(database):
    threads, busy = set(), []

    def write(connection):
        threads.add(threading.current_thread().name)
        busy.append(1)
        assert len(busy) == 1
        connection.exec_driver_sql("UPDATE deliveries SET note = ''")
        busy.pop()

    await asyncio.gather(*(database.write(write) for _ in range(50)))
    assert len(threads) == 1


async def test_a_reader_is_not_held_up_by_a_writer(database):
    inside, go_on = threading.Event(), threading.Event()

    def slow(connection):
        connection.execute(insert(deliveries), ROW)
        inside.set()
        assert go_on.wait(PATIENCE)

    writing = asyncio.create_task(database.write(slow))
    assert await asyncio.to_thread(inside.wait, PATIENCE)
    assert await database.read(count) == 0
    go_on.set()
    await writing
    assert await database.read(count) == 1


async def test_who_stops_waiting_does_not_stop_the_write(database):
    gone = asyncio.create_task(database.write(lambda c: c.execute(insert(deliveries), ROW)))
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    await database.write(lambda _: None)  # behind it in the queue
    assert await database.read(count) <= 1


async def test_close_finishes_what_was_asked_for(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'x.db'}")
    database.migrate()
    writing = asyncio.create_task(database.write(lambda c: c.execute(insert(deliveries), ROW)))
    await asyncio.sleep(0)
    database.close()
    await writing
    with sqlite3.connect(tmp_path / "x.db") as raw:
        assert raw.execute("SELECT id FROM deliveries").fetchall() == [("one",)]
    raw.close()


async def test_errors_of_the_database_are_transient_and_tell_no_values(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'x.db'}")
    with pytest.raises(TransientError, match="did not do its part"):
        await database.read(count)
    database.migrate()
    await database.write(lambda c: c.execute(insert(deliveries), ROW | {"body": b"hush"}))
    with pytest.raises(IntegrityError) as caught:
        await database.write(lambda c: c.execute(insert(deliveries), ROW | {"body": b"hush"}))
    assert "hush" not in str(caught.value)
    database.close()


async def test_the_log_starts_over_under_steady_writing(database, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WRITES_PER_CHECKPOINT", 4)
    body = b"x" * 40_000
    for number in range(400):
        row = ROW | {"id": str(number), "run_id": str(number), "digest": str(number), "body": body}
        await database.write(lambda c, row=row: c.execute(insert(deliveries), row))
    assert (tmp_path / "fettle.db-wal").stat().st_size < 8_000_000  # 16 MB were written
    assert await database.read(count) == 400


async def test_the_log_starts_over_while_somebody_always_reads(database, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONG_LOG", 64)
    stop = threading.Event()

    def read_on(delay):
        stop.wait(delay)
        while not stop.is_set():
            with database.engine.connect() as connection:
                connection.execute(select(deliveries.c.id).limit(1)).all()
                stop.wait(0.02)

    readers = [threading.Thread(target=read_on, args=(number / 100,)) for number in range(3)]
    for reader in readers:
        reader.start()
    try:
        for number in range(500):
            values = {name: str(number) for name in ("id", "run_id", "digest")}
            row = {**ROW, **values, "body": b"x" * 40_000}
            await database.write(lambda c, row=row: c.execute(insert(deliveries), row))
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    log = tmp_path / "fettle.db-wal"
    assert log.stat().st_size < 15_000_000  # 20 MB were written, also where it starts over late


def test_a_failed_checkpoint_leaves_the_writer_patient(database):
    with database.engine.connect() as connection:
        assert module._checkpoint(connection, "NO SUCH MODE)") == 0
        patience = connection.exec_driver_sql("PRAGMA busy_timeout").scalar()
    assert patience == module.BUSY_SECONDS * 1000


def test_a_folder_that_cannot_be_written_names_the_setting(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="FETTLE_DATA_DIR"):
        Database(f"sqlite:///{tmp_path / 'file' / 'x.db'}")


def test_driver_is_new_enough_for_the_engine():
    driver = sqlite_module()
    connection = driver.connect(":memory:")
    assert connection.execute("SELECT 1").fetchone() == (1,)
    connection.close()


def test_an_old_sqlite_is_refused_on_a_new_python(monkeypatch):
    old = SimpleNamespace(sqlite_version_info=(3, 40, 1), sqlite_version="3.40.1")
    monkeypatch.setattr(module, "sys", SimpleNamespace(version_info=(3, 12, 1)))
    monkeypatch.setattr(module, "sqlite3", old)
    monkeypatch.setattr(module, "import_module", import_nothing)
    with pytest.raises(ConfigError, match="pysqlite3-binary"):
        sqlite_module()


def import_nothing(name):
    raise ImportError(name)


def test_the_files_of_the_migrations_are_named_like_their_revisions(database):
    script = ScriptDirectory(str(Path(migrations.__file__).parent))
    known = tuple(each.revision for each in script.walk_revisions())
    with database.engine.connect() as connection:
        assert migrations.revisions(connection) == (known[0], known)


@pytest.mark.parametrize("started", [False, True], ids=["at the start", "while at work"])
async def test_a_read_only_postgresql_is_said_in_words(postgresql_url, started):
    """As after a failover, or where a disk is full and the operator has stopped all writes."""
    database = Database(postgresql_url)
    if started:
        database.migrate()
    database.close()
    plain = create_engine(postgresql_url, isolation_level="AUTOCOMMIT")
    with plain.connect() as connection:
        name = connection.exec_driver_sql("SELECT current_database()").scalar()
        connection.exec_driver_sql(
            f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'
        )
    plain.dispose()
    database = Database(postgresql_url)
    if started:
        with pytest.raises(TransientError, match=r"^Fettle's database is read-only for now$"):
            await database.write(lambda c: c.execute(insert(deliveries).values(ROW)))
    else:
        with pytest.raises(ConfigError, match=r"Fettle cannot begin: .* is read-only for now\."):
            database.migrate()
    database.close()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("database or disk is full", "disk of Fettle's database is full"),
        ("attempt to write a readonly database", "read-only"),
        ('FATAL: sorry, too many clients already at "10.0.0.7", port 5432', "no more connections"),
        ('FATAL:  too many connections for role "fettle"', "no more connections"),
        ('FATAL:  too many connections for database "fettle"', "no more connections"),
        ('could not translate host name "db.internal"', "did not do its part"),
    ],
)
def test_the_words_of_the_driver_are_not_for_everybody(said, told):
    trouble = describe_trouble(OperationalError("SELECT 1", {}, Exception(said)))
    assert told in trouble
    assert "10.0.0.7" not in trouble
    assert "internal" not in trouble


def test_a_statement_that_is_wrong_is_no_trouble_of_the_database():
    assert describe_trouble(IntegrityError("INSERT", {}, Exception("not unique"))) is None


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"port": 1}, DatabaseAway),
        ({"password": "wrong"}, ConfigError),
        ({"database": "nowhere"}, ConfigError),
    ],
    ids=["nobody listens", "the password is wrong", "there is no such database"],
)
def test_what_may_pass_is_told_from_what_an_operator_has_to_mend(postgresql_url, change, kind):
    database = Database(make_url(postgresql_url).set(**change).render_as_string(False))
    with pytest.raises(ConfigError) as raised:
        database.migrate()
    database.close()
    assert type(raised.value) is kind


async def test_a_server_whose_machine_is_gone_is_noticed_in_half_a_minute(postgresql_url):
    """Without it the kernel sends for a quarter of an hour, and the process cannot end meanwhile.

    Each of the process's three kinds of connections; what the operator's address says holds.
    """

    def seconds_of(connection):
        descriptor = connection.connection.driver_connection.fileno()
        with socket.socket(fileno=os.dup(descriptor)) as held:
            return held.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000

    for url, seconds in ((postgresql_url, 30), (f"{postgresql_url}?tcp_user_timeout=7000", 7)):
        database, claim = Database(url), Claim(url, "one")
        await claim.take()
        engine = create_engine(url, **engine_options(url))
        with engine.connect() as its:
            found = [await database.read(seconds_of), seconds_of(claim.connection), seconds_of(its)]
        assert found == [seconds] * 3
        engine.dispose()
        await claim.release()
        database.close()
