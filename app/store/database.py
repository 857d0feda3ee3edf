"""The database: one writer thread, a few readers, SQLite in WAL mode or PostgreSQL by its URL."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import platform
import sqlite3
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import structlog
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from agents.errors import ConfigError, TransientError
from app.secrets.encryption import OPEN, Cipher
from app.store.encryption.columns import encrypt_with
from app.store.encryption.keys import TERMINAL, enrol
from app.store.migrations import upgrade
from app.store.process_lock import choose_notice
from app.store.vacuum import compact, slack

T = TypeVar("T")

log = structlog.get_logger(__name__)
# By way of a library: a command has no log, and its output is for what was asked for.
_troubles = logging.getLogger(__name__)

READERS = 4
CONNECTIONS = READERS + 1
"""To PostgreSQL, at most: the readers', and the writer's."""
BUSY_SECONDS = 10

PRAGMAS = (
    "page_size=8192",  # holds in a new file only: a delivery then fills one page, not several
    "journal_mode=WAL",
    "synchronous=FULL",  # a commit survives a power cut, not only a kill
    "foreign_keys=ON",
    "secure_delete=ON",  # what is deleted is overwritten: deleted means gone
    "wal_autocheckpoint=0",  # `_Checkpoints` does it, so that no commit has to wait for it
    f"journal_size_limit={32 * 2**20}",  # bytes: a log that was longer once gives them back
)
SOON = 256 * 2**20
"""Bytes of a file that is rewritten in seconds: GitHub waits ten for the answer to a delivery."""
NO_DATABASE = (
    "Fettle cannot begin: {trouble}. It said: {said}\nSee that the server of FETTLE_DATABASE_URL is"
    " up, takes writes and has room; `fettle doctor` looks at it in full."
)
NOT_OURS = ("authentication failed", "does not exist", "no pg_hba.conf entry")
"""What a server says that is there, and does not know what FETTLE_DATABASE_URL names."""
WRITES_PER_CHECKPOINT = 16
"""Rarer ones move less in sum, but the disk is busy for longer at a time."""
LONG_LOG = 2048
"""Pages in the log, from which on the writer waits for readers, so that the log starts over."""
LONG_LOG_WAIT = 100
"""Milliseconds. A read takes one or two, but on a busy server there may always be one."""


class DatabaseAway(ConfigError):
    """The database cannot be begun with, and may be there in a while, as it is."""


class Database:
    """The store's connections. Every write of the process goes through its one writer thread.

    SQLite lets one writer in at a time and makes the others poll for the lock, which costs
    hundreds of milliseconds in the tail; a queue in front of one thread costs none.
    """

    def __init__(self, url: str, cipher: Cipher = OPEN) -> None:
        parsed = make_url(url)
        self.engine: Engine = _sqlite(parsed) if _is_sqlite(parsed) else _postgresql(parsed)
        self.cipher = cipher
        encrypt_with(self.engine.dialect, cipher)
        self._checkpoints = _Checkpoints(self.engine) if _is_sqlite(parsed) else None
        self._held: Connection | None = None
        self._fence: Callable[[Connection], None] = lambda _: None
        self._writer = ThreadPoolExecutor(1, "fettle-write")
        self._readers = ThreadPoolExecutor(READERS, "fettle-read")

    def migrate(self, worker: str = TERMINAL) -> None:
        """Migrate the tables to this version's schema; blocks until done.

        Raises ConfigError when the database cannot be written, or holds texts encrypted with a key
        that this process lacks; DatabaseAway where trying again may be all that it takes.
        """
        try:
            writing = self.engine.connect().execution_options(writes=True)
            with writing as connection, connection.begin():
                upgrade(connection)
                enrol(connection, self.cipher, worker)
        except DBAPIError as error:
            if (trouble := describe_trouble(error)) is None:
                raise
            self.engine.dispose()  # a connection may be to what is no longer the one that writes
            refused = any(words in str(error.orig) for words in NOT_OURS)
            kind = ConfigError if refused else DatabaseAway
            raise kind(NO_DATABASE.format(trouble=trouble, said=error.orig)) from error

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Return what `fn` returns, run in a reader thread.

        Raises TransientError when the database cannot be reached or stays locked.
        """
        return await _in_thread(self._readers, self._read_sync, fn)

    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Return what `fn` returns once its transaction is on disk; an exception rolls it back.

        A caller that is cancelled does not stop its write. Raises TransientError like `read`.
        """
        return await _in_thread(self._writer, self._write_sync, fn)

    def fence_with(self, require: Callable[[Connection], None]) -> None:
        """Have `require` raise in each write of who may not write any more; PostgreSQL only."""
        self._fence = require

    async def compact(self, *, rewrite: bool = True) -> bool:
        """Empty the write-ahead log; with `rewrite`, rebuild the file without deleted data before.

        All writes wait meanwhile. Return whether nothing interrupted it: other processes or a full
        disk may. A PostgreSQL server vacuums by itself.

        https://sqlite.org/lang_vacuum.html
        """
        if self._checkpoints is None:
            return True
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, compact, self.engine, rewrite)

    async def slack(self) -> tuple[int, int]:
        """Return the unused bytes of the database file, and its size in bytes."""
        if self._checkpoints is None:
            return 0, 0
        return await self.read(slack)

    def close(self) -> None:
        """Finish pending writes, then close the file or the connections to the server."""
        self._writer.shutdown()
        self._readers.shutdown()
        if self._checkpoints:
            self._checkpoints.close()
        if self._held:
            self._held.close()
        self.engine.dispose()

    def _read_sync(self, fn: Callable[[Connection], T]) -> T:
        with self.engine.connect() as connection:
            return fn(connection)

    def _write_sync(self, fn: Callable[[Connection], T]) -> T:
        if self._checkpoints is None:  # a server: the pool notices when it was restarted
            with self.engine.connect() as connection, connection.begin():
                self._fence(connection)
                return fn(connection)
        if self._held is None:  # a file: taking one from the pool costs more than a commit
            self._held = self.engine.connect().execution_options(writes=True)
        with self._held.begin():
            result = fn(self._held)
        self._checkpoints.count_write(self._held)
        return result


class _Checkpoints:
    """Moves what was committed from the WAL into the database file, beside the writer.

    The long part runs in a thread of its own while commits go on. The log can only start over at
    a moment when nothing is left in it: that short rest the writer does itself, between two
    commits. Left to SQLite, every so-and-so-many-th commit waits for the whole of it.
    https://sqlite.org/wal.html#avoiding_excessively_large_wal_files
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, "fettle-checkpoint")
        self._moved: Future[None] | None = None
        self._writes = 0
        self._pages = 0

    def count_write(self, connection: Connection) -> None:
        """Note one commit of the writer, in its thread and outside of any transaction."""
        self._writes += 1
        if self._moved is not None:
            if self._moved.done():
                self._moved = None
                wait = LONG_LOG_WAIT if self._pages > LONG_LOG else 0
                self._pages = _checkpoint(connection, "RESTART", wait)
        elif self._writes >= WRITES_PER_CHECKPOINT:
            self._writes = 0
            self._moved = self._thread.submit(self._move)

    def close(self) -> None:
        """Wait for the thread; closing the last connection moves the rest."""
        self._thread.shutdown()

    def _move(self) -> None:
        with self._engine.connect() as connection:
            _checkpoint(connection, "PASSIVE")


def _checkpoint(connection: Connection, mode: str, wait: int = 0) -> int:
    """Run a checkpoint outside of SQLAlchemy's transactions; return how many pages the log has.

    It waits so many milliseconds for readers, then they put it off. It never raises: what was
    committed is on disk all the same, the log only grows.
    """
    driver: Any = connection.connection.driver_connection
    try:
        driver.execute(f"PRAGMA busy_timeout={wait}").close()
        _, pages, _ = driver.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    except Exception as error:  # noqa: BLE001 - a full disk, say; the next write will tell
        log.warning("checkpoint failed", mode=mode, error=str(error))
        return 0
    else:
        return int(pages)
    finally:
        driver.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}").close()


async def _in_thread(pool: Executor, run: Callable[..., T], fn: Callable[[Connection], T]) -> T:
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, run, fn)
    except DBAPIError as error:
        if (trouble := describe_trouble(error)) is None:
            raise
        _troubles.info("database in trouble: %s", error.orig)
        raise TransientError(trouble) from error


def describe_trouble(error: DBAPIError) -> str | None:
    """Return what is wrong with the database, without its own words; None: with the statement.

    https://www.postgresql.org/docs/current/errcodes-appendix.html
    """
    said, code = str(error.orig).lower(), getattr(error.orig, "sqlstate", None)
    for sign, trouble in _TROUBLES.items():
        if code == sign or sign in said:
            return trouble
    known = isinstance(error, (OperationalError, InterfaceError))
    return "Fettle's database did not do its part" if known else None


_TROUBLES = {
    "53100": "the disk of Fettle's database is full",
    "database or disk is full": "the disk of Fettle's database is full",
    "no space left on device": "the disk of Fettle's database is full",
    "53300": "Fettle's database takes no more connections",
    "too many clients": "Fettle's database takes no more connections",
    "too many connections": "Fettle's database takes no more connections",
    "remaining connection slots": "Fettle's database takes no more connections",
    "25006": "Fettle's database is read-only for now",
    "readonly database": "Fettle's database is read-only for now",
    "database is locked": "Fettle's database is locked by another process",
}
"""SQLSTATE or words of the driver, and what they mean."""


def overwriting_connection() -> type[Any]:
    """Return connections for the engine that overwrite deleted rows with zeros.

    https://sqlite.org/pragma.html#pragma_secure_delete
    """
    plain: type[Any] = sqlite_module().Connection

    class Overwriting(plain):  # type: ignore[misc] # which driver it is, is known at run time
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.execute("PRAGMA secure_delete=ON").close()

    return Overwriting


def engine_options(url: str) -> dict[str, Any]:
    """Return what the durable engine makes its own connections with.

    With parameters shown, what people said would stand in the log of a database in trouble.
    """
    parsed = make_url(url)
    if _is_sqlite(parsed):
        how: dict[str, Any] = {"connect_args": {"factory": overwriting_connection()}}
        how["module"] = sqlite_module()
    else:
        named = {"application_name": "dbos_transact"}  # as it names itself, unless told otherwise
        how = {"connect_args": named | choose_notice(parsed)}
    return {"hide_parameters": True, **how}


def write_ahead(url: str) -> None:
    """Put the file into WAL mode, in which it stays: a step costs a third of what it would."""
    with closing(sqlite_module().connect(make_url(url).database)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def sqlite_module() -> ModuleType:
    """Return the SQLite driver for this process; the durable engine must be given the same one.

    From Python 3.12 on, the engine needs `unixepoch('subsec')`, which SQLite has since 3.42:
    with an older one it fails to start or hangs. Raises ConfigError when there is none.
    """
    if sys.version_info < (3, 12) or sqlite3.sqlite_version_info >= (3, 42):
        return sqlite3
    try:
        return import_module("pysqlite3.dbapi2")
    except ImportError:
        raise ConfigError(
            f"Python {platform.python_version()} needs SQLite 3.42 or newer here, and it comes "
            f"with {sqlite3.sqlite_version}. Run: pip install pysqlite3-binary"
        ) from None


def _is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _sqlite(url: URL) -> Engine:
    _create_private(Path(url.database or ""))
    engine = create_engine(
        url,
        module=sqlite_module(),
        connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        pool_size=READERS + 2,  # the writer and the checkpoints
        hide_parameters=True,
    )
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _postgresql(url: URL) -> Engine:
    return create_engine(
        url,
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args=choose_notice(url),
    )


def _create_private(path: Path) -> None:
    """Make the file for the owner alone; SQLite gives its companions the same mode.

    One that is there is never opened here: closing it would take away the locks of every
    connection that this process has, and another process would unlink the log below them.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        if not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise ConfigError(
            f"The database file {path} cannot be opened: {error.strerror}. Set FETTLE_DATA_DIR to "
            "a folder that this user may write to."
        ) from error


def _set_pragmas(connection: Any, _record: object) -> None:
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _begin(connection: Connection) -> None:
    """Begin what SQLAlchemy calls a transaction.

    A writer takes the lock at once: one that reads first and writes later would be refused
    without waiting if somebody else wrote in between.
    """
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def drop_unstorable(text: str) -> str:
    """Return the text without what PostgreSQL cannot hold."""
    return text.replace("\0", "").encode(errors="replace").decode()
