"""The file is made smaller beside others, who read and write as they did before."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import text

from app.store.database import Database


@pytest.fixture
def database(sqlite_url):
    made = Database(sqlite_url)
    yield made
    made.close()


def connect(tmp_path, *, timeout):
    return closing(sqlite3.connect(tmp_path / "fettle.db", timeout=timeout, isolation_level=None))


async def write(database):
    await database.write(lambda c: c.execute(text("CREATE TABLE IF NOT EXISTS x (y)")))
    await database.write(lambda c: c.execute(text("INSERT INTO x VALUES (1)")))


async def test_others_write_while_a_reader_holds_up_the_log(database, tmp_path):
    await write(database)
    with connect(tmp_path, timeout=0) as reader, connect(tmp_path, timeout=0.5) as writer:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM x").fetchall()
        await write(database)
        emptying = asyncio.create_task(database.compact(rewrite=False))
        for _ in range(5):
            await asyncio.sleep(0.05)
            writer.execute("INSERT INTO x VALUES (2)")  # or it would be told that it is locked
        assert not emptying.done()
        reader.execute("COMMIT")
        assert await emptying
    assert (tmp_path / "fettle.db-wal").stat().st_size == 0


async def test_a_file_that_cannot_be_rewritten_is_told(database, tmp_path):
    await write(database)
    await database.read(lambda c: c.execute(text("PRAGMA busy_timeout=10")).all())
    with connect(tmp_path, timeout=0) as other:
        other.execute("BEGIN IMMEDIATE")
        assert not await database.compact()
        other.execute("ROLLBACK")
    assert await database.compact()
