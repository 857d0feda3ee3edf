"""The lease of a worker on PostgreSQL: who is at work, who is silent, and who may write.

A worker says every few seconds that it is there, on the connection that holds its name's lock. Who
has been silent for a minute is fenced off: from then on nothing that it writes is taken, and others
go on with its runs. On SQLite one process has the file, and there is no lease.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import time

import structlog
from sqlalchemy import Connection, Select, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from agents.errors import TransientError
from app.store.database import Database, describe_trouble
from app.store.process_lock import Claim, lock_key
from app.store.tables import runs, workers

__all__ = ["RENEW_SECONDS", "SILENT_SECONDS", "Claim", "Lease", "find_silent_since"]

log = structlog.get_logger()

RENEW_SECONDS = 5.0
ANSWER_SECONDS = 30.0
"""Within which the database has to answer; well below `SILENT_SECONDS`."""
SILENT_SECONDS = 60.0
"""After which others take a worker's runs."""
UNSEEN_SECONDS = 20.0
"""After which people who ask are told that a worker does not answer."""

_BEGIN = """
    INSERT INTO workers (name, session, host, started, seen)
    SELECT :name, :session, :host, now, now FROM EXTRACT(EPOCH FROM clock_timestamp()) AS now
    ON CONFLICT (name) DO UPDATE SET session = EXCLUDED.session, host = EXCLUDED.host,
    started = EXCLUDED.started, seen = EXCLUDED.seen"""
_RENEW = """
    UPDATE workers SET seen = EXTRACT(EPOCH FROM clock_timestamp())
    WHERE name = :name AND session = :session"""
_END = "UPDATE workers SET seen = 0 WHERE name = :name AND session = :session"
_HELD = "SELECT 1 FROM workers WHERE name = :name AND session = :session FOR SHARE"
_SILENT = """
    SELECT name FROM workers
    WHERE name <> :name AND seen < EXTRACT(EPOCH FROM clock_timestamp()) - :seconds"""
_LOCK = "SELECT pg_try_advisory_lock(:key)"
_UNLOCK = "SELECT pg_advisory_unlock(:key)"
_END_HOLDER = """
    SELECT pg_terminate_backend(pid) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32) | objid::bigint = :key"""
_FENCE = """
    UPDATE workers SET session = ''
    WHERE name = :name AND seen < EXTRACT(EPOCH FROM clock_timestamp()) - :seconds"""
_FORGET = "DELETE FROM workers WHERE name = :name AND session = ''"


class Lease:
    """One process's right to write to a database on PostgreSQL."""

    def __init__(self, claim: Claim, name: str, *, silent_seconds: float = SILENT_SECONDS) -> None:
        self._claim = claim
        self._name = name
        self._session = secrets.token_hex(16)
        self._silent = silent_seconds

    async def begin(self) -> None:
        """Begin it; the claim is taken."""
        mine = {"name": self._name, "session": self._session, "host": socket.gethostname()}
        await self._execute(_BEGIN, **mine)

    async def renew(self) -> bool:
        """Say that this worker is there; False once it may not write any more.

        A database that takes no writes for now ends no lease: the connection holds the name's lock
        all the same, and whoever was fenced off meanwhile hears so with the first write.
        """
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                mine = {"name": self._name, "session": self._session}
                return await self._execute(_RENEW, **mine) == 1
        except DBAPIError as error:
            trouble = None if error.connection_invalidated else describe_trouble(error)
            if trouble is not None:
                log.info("lease not renewed yet", reason=trouble)
            return trouble is not None
        except (SQLAlchemyError, TimeoutError):
            return False

    async def end(self) -> None:
        """Let others take what is left at once; does nothing where the connection is gone."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._execute(_END, name=self._name, session=self._session)
        except (SQLAlchemyError, TimeoutError):
            return

    def require(self, connection: Connection) -> None:
        """Raise TransientError in a transaction of a worker that was fenced off.

        Until the transaction ends, nobody can fence it off.
        """
        mine = {"name": self._name, "session": self._session}
        if connection.execute(text(_HELD), mine).first() is None:
            raise TransientError("This worker was silent for too long: another one has its runs.")

    async def list_silent(self) -> list[str]:
        """Return the workers that were silent for too long, or have stopped."""
        asked = {"name": self._name, "seconds": self._silent}
        return await asyncio.to_thread(self._names, asked)

    async def fence_off(self, name: str) -> bool:
        """Take the right to write from a silent worker; False when it is there after all.

        One that holds its name's lock although it is silent, like a process that was stopped,
        loses the connection. Until `forget`, others that try find it taken.
        """
        key = {"key": lock_key(name)}
        if not await self._scalar(_LOCK, **key):
            silent = await self.list_silent()
            if name in silent:
                await self._execute(_END_HOLDER, **key)
            return False  # its lock is free in a moment
        try:
            return await self._execute(_FENCE, name=name, seconds=self._silent) == 1
        finally:
            await self._execute(_UNLOCK, **key)

    async def forget(self, name: str) -> None:
        """Strike out a worker that was fenced off, and whose runs others have."""
        await self._execute(_FORGET, name=name)

    def _names(self, asked: dict[str, object]) -> list[str]:
        return [row.name for row in self._connection.execute(text(_SILENT), asked)]

    async def _scalar(self, query: str, **values: object) -> object:
        return await asyncio.to_thread(self._connection.scalar, text(query), values)

    async def _execute(self, query: str, **values: object) -> int:
        done = await asyncio.to_thread(self._connection.execute, text(query), values)
        return done.rowcount

    @property
    def _connection(self) -> Connection:
        connection = self._claim.connection
        assert connection is not None, "a lease begins after its claim"
        return connection


async def find_silent_since(database: Database, run_id: str) -> float | None:
    """Return since when the worker of this run has not answered (unix seconds); None: it does."""
    query: Select[tuple[float, float]] = (
        select(workers.c.seen, workers.c.started)
        .join(runs, runs.c.holder == workers.c.name)
        .where(runs.c.id == run_id)
    )
    row = await database.read(lambda c: c.execute(query).one_or_none())
    if row is None:
        return None
    seen = row.seen or row.started
    return seen if row.seen == 0 or time.time() - seen > UNSEEN_SECONDS else None
