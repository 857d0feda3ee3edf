"""The lock that keeps two processes from working under one name on the same database."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import structlog
from sqlalchemy import URL, Connection, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from agents.errors import ConfigError

PATIENCE = 45.0
"""Seconds in which PostgreSQL notices that the machine of an earlier process is gone."""
KEEPALIVE = "-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
"""By which the server notices that a process is gone."""
NOTICE = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""By which a process notices within half a minute that the server's machine is gone, as it is after
a failover that closes no connection. The kernel would go on sending for a quarter of an hour, and
a process that waits for an answer cannot even end. Seconds, the last one milliseconds.

https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-KEEPALIVES
"""

log = structlog.get_logger()


class _Lock(Protocol):
    def acquire(self) -> bool: ...
    def release(self) -> None: ...


class Claim:
    """A process's exclusive hold on its name, until the process ends in any way.

    On SQLite one process uses a file; on PostgreSQL one process uses a name.
    """

    def __init__(self, database_url: str, name: str, *, patience: float = PATIENCE) -> None:
        url = make_url(database_url)
        self._sqlite = url.get_backend_name() == "sqlite"
        self._lock: _Lock = _FileLock(url) if self._sqlite else _ServerLock(url, name)
        self._name = name
        self._patience = 0.0 if self._sqlite else patience

    async def take(self) -> None:
        """Take the lock. Raises ConfigError while another process holds it."""
        for second in range(int(self._patience) + 1):
            if await asyncio.to_thread(self._lock.acquire):
                return
            if second == 1:
                log.warning("waiting for another process of this name to end", worker=self._name)
            await asyncio.sleep(min(self._patience, 1.0))
        if self._sqlite:
            raise ConfigError(
                "Another Fettle works with this database file. Stop that one first, or give this"
                " one a FETTLE_DATA_DIR of its own; several that share the work need PostgreSQL."
            )
        raise ConfigError(
            f"Another Fettle named {self._name} works with this database. Stop that one first, or"
            " set FETTLE_WORKER to a name that this process alone has, and keeps over restarts."
        )

    @property
    def connection(self) -> Connection | None:
        """Return PostgreSQL's connection that holds the lock: as long as it lives, so does that."""
        return self._lock.connection if isinstance(self._lock, _ServerLock) else None

    async def release(self) -> None:
        """Release the lock."""
        await asyncio.to_thread(self._lock.release)


class _FileLock:
    """An advisory lock on a file beside the database; the kernel gives it back."""

    def __init__(self, url: URL) -> None:
        self._path = Path(f"{url.database}.lock")
        self._fd: int | None = None

    def acquire(self) -> bool:
        self._fd = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            return False
        return True

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class _ServerLock:
    """An advisory lock of PostgreSQL, for as long as its connection lives."""

    def __init__(self, url: URL, name: str) -> None:
        self._engine = create_engine(
            url,
            poolclass=NullPool,
            hide_parameters=True,
            connect_args={"options": KEEPALIVE} | choose_notice(url),
        )
        self._key = lock_key(name)
        self.connection: Connection | None = None

    def acquire(self) -> bool:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": self._key}):
            self.connection = connection
            return True
        connection.close()
        return False

    def release(self) -> None:
        if self.connection is not None:
            with suppress(DBAPIError):  # the server may have closed it before
                self.connection.close()
            self.connection = None


def choose_notice(url: URL) -> dict[str, int]:
    """Return by what a connection to PostgreSQL notices that its server is gone.

    What the operator's address says of it stands there already.
    """
    return {name: value for name, value in NOTICE.items() if name not in url.query}


def lock_key(name: str) -> int:
    """Return the number of the advisory lock that a worker of this name holds."""
    digest = hashlib.sha256(f"fettle worker {name}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
