"""Fingerprints of the keys that a database is encrypted with, so that no key in use gets lost."""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, inspect, select
from sqlalchemy.dialects import postgresql, sqlite

from app.secrets.encryption import Cipher, make_locked_error
from app.store.tables import seals

PLAIN = ""
"""Stands for no key, in the place of a fingerprint."""
TERMINAL = ""
"""Stands for a command of an operator, which is over in a moment, in the place of a worker."""


def require_keys(connection: Connection, cipher: Cipher) -> None:
    """Raise ConfigError when the database may hold texts that this cipher cannot decrypt."""
    if not inspect(connection).has_table(seals.name):
        return  # of an older version, which sealed nothing
    used: set[str] = set(connection.scalars(select(seals.c.fingerprint).distinct()))
    if missing := sorted(used - {PLAIN, *cipher.fingerprints}):
        raise make_locked_error(missing[0])


def enrol(connection: Connection, cipher: Cipher, worker: str) -> None:
    """Record the newest key, or that there is none, before anything is encrypted with it.

    Raises ConfigError like `require_keys`.
    """
    require_keys(connection, cipher)
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    row = {"fingerprint": _newest(cipher), "worker": worker, "at": time.time()}
    insert = dialect.insert(seals).values(row)
    known = ["fingerprint", "worker"]
    connection.execute(insert.on_conflict_do_update(index_elements=known, set_={"at": row["at"]}))


def list_workers(connection: Connection) -> list[str]:
    """Return the names of processes that work, or once worked, on this database."""
    query = select(seals.c.worker).where(seals.c.worker != TERMINAL).distinct()
    return list(connection.scalars(query))


def find_outdated_workers(connection: Connection, cipher: Cipher) -> list[str]:
    """Return the workers that last started with another newest key than this cipher's.

    A worker in the list may be gone. On SQLite one process works at a time, so only the last
    counts.
    """
    query = select(seals.c.worker, seals.c.fingerprint).where(seals.c.worker != TERMINAL)
    rows = connection.execute(query.order_by(seals.c.at)).all()
    last = {row.worker: row.fingerprint for row in rows}
    if connection.dialect.name == "sqlite":
        last = {row.worker: row.fingerprint for row in rows[-1:]}
    return sorted(worker for worker, used in last.items() if used != _newest(cipher))


def forget_others(connection: Connection, cipher: Cipher) -> None:
    """Record that every stored text is encrypted with the newest key, or that none is encrypted."""
    connection.execute(delete(seals).where(seals.c.fingerprint != _newest(cipher)))


def _newest(cipher: Cipher) -> str:
    return cipher.fingerprints[0] if cipher else PLAIN
