"""What the tests of the store share: a database without runs, on SQLite and on PostgreSQL."""

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlalchemy import make_url

from app.store.database import Database

_TABLES = """
    SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"""
_USED = "SELECT schemaname, sequencename FROM pg_sequences WHERE last_value IS NOT NULL"


class EmptiedDatabase:
    """A PostgreSQL database that one test after another uses: a new one takes ten times as long.

    It is emptied between them; where one has changed what is there from the start, it is made anew.
    """

    def __init__(self, make):
        self._make = make
        self._url = ""

    def take(self):
        """Return the URL of the database as it was in the beginning."""
        if not self._url or not self._is_emptied():
            self.close()
            self._url = self._make()
            plain = make_url(self._url).set(drivername="postgresql")
            self._connection = psycopg.connect(plain.render_as_string(hide_password=False))
            self._connection.autocommit = True
            self._connection.execute("SET lock_timeout = '10s'")
            self._tables = self._ask(_TABLES)
            self._used = self._ask(_USED)
            rows = self._list_filled()
            self._rows = {each: self._ask(SQL("SELECT * FROM {}"), each) for each in rows}
        return self._url

    def close(self):
        """Leave it."""
        if self._url:
            self._connection.close()
            self._url = ""

    def _is_emptied(self):
        """Remove what a test has stored; return whether all is as it was."""
        if self._ask(_TABLES) != self._tables:
            return False
        try:
            self._empty()
        except psycopg.errors.LockNotAvailable:  # a test has left something open
            return False
        now = {each: self._ask(SQL("SELECT * FROM {}"), each) for each in self._rows}
        return now == self._rows

    def _empty(self):
        filled = [each for each in self._list_filled() if each not in self._rows]
        if filled:
            names = SQL(", ").join(Identifier(*each) for each in filled)
            truncate = SQL("TRUNCATE {} RESTART IDENTITY CASCADE")
            self._connection.execute(truncate.format(names))
        for each in self._ask(_USED):
            if each not in self._used:
                restart = SQL("ALTER SEQUENCE {} RESTART")
                self._connection.execute(restart.format(Identifier(*each)))

    def _list_filled(self):
        looks = [
            SQL("SELECT {} WHERE EXISTS (SELECT FROM {})").format(number, Identifier(*each))
            for number, each in enumerate(self._tables)
        ]
        found = self._connection.execute(SQL(" UNION ALL ").join(looks)).fetchall()
        return [self._tables[number] for (number,) in found]

    def _ask(self, query, *names):
        """Return the rows of a query about these tables."""
        whole = SQL(query) if isinstance(query, str) else query
        return self._connection.execute(
            whole.format(*(Identifier(*name) for name in names))
        ).fetchall()


@pytest.fixture(scope="session")
def emptied_postgresql(make_postgresql_url):
    made = EmptiedDatabase(make_postgresql_url)
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request):
    """Return the URL of a database without runs, in turn on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite_url")
    return request.getfixturevalue("emptied_postgresql").take()


@pytest.fixture
def database(store_url):
    made = Database(store_url)
    yield made
    made.close()
