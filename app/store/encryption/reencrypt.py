"""Encrypt stored texts again: plain ones under the first key, others under a newer key.

Rows go in batches, each in a transaction of its own, so that a server can work meanwhile. A row
that the server writes meanwhile already has the newest key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnClause,
    Connection,
    LargeBinary,
    Row,
    TableClause,
    Text,
    column,
    select,
    table,
    tuple_,
    update,
)
from sqlalchemy.types import TypeEngine

from app.secrets.encryption import Cipher
from app.store.database import Database
from app.store.encryption.columns import SealedBytes, SealedText
from app.store.engine_tables import KEYS, TEXTS, engine_table
from app.store.tables import metadata

AT_ONCE = 100


class _Place(NamedTuple):
    """A table with sealed columns, as they are stored."""

    rows: TableClause
    keys: tuple[str, ...]
    columns: tuple[str, ...]


async def reencrypt(database: Database, to: Cipher) -> int:
    """Encrypt all texts with the newest key of `to`; return how many had to change.

    Raises ConfigError for a text that the database's own cipher cannot decrypt.
    """
    changed = 0
    for place in await database.read(lambda c: list(_places(c))):
        last: tuple[Any, ...] | None = None
        while True:
            work = _Batch(place, database.cipher, to, last)
            found, last = await database.write(work.reencrypt)
            changed += found
            if last is None:
                break
    return changed


def _places(connection: Connection) -> Iterator[_Place]:
    for each in metadata.sorted_tables:
        sealed = {
            c.name: _find_raw_type(c.type)
            for c in each.columns
            if _find_raw_type(c.type) is not None
        }
        if sealed:
            keys = tuple(c.name for c in each.primary_key)
            columns: list[ColumnClause[Any]] = [column(name) for name in keys]
            columns += [column(name, kind) for name, kind in sealed.items()]
            yield _Place(table(each.name, *columns), keys, tuple(sealed))
    for name, keys in KEYS.items():
        if (found := engine_table(connection, name)) is not None:
            yield _Place(found, keys, TEXTS[name])


def _find_raw_type(kind: TypeEngine[Any]) -> TypeEngine[Any] | None:
    """Return the type of what is in the file; None for a column that is not sealed."""
    if isinstance(kind, SealedText):
        return Text()
    return LargeBinary() if isinstance(kind, SealedBytes) else None


class _Batch(NamedTuple):
    """The next rows of one table."""

    place: _Place
    by: Cipher
    to: Cipher
    last: tuple[Any, ...] | None

    def reencrypt(self, connection: Connection) -> tuple[int, tuple[Any, ...] | None]:
        """Return how many texts were changed, and the last row's key while there may be more."""
        rows, names = self.place.rows, self.place.keys
        keys = [rows.c[name] for name in names]
        query = select(rows).order_by(*keys).limit(AT_ONCE)
        if self.last is not None:
            query = query.where(tuple_(*keys) > self.last)
        found = connection.execute(query).all()
        changed = sum(self._renew(connection, row) for row in found)
        more = tuple(getattr(found[-1], name) for name in names) if len(found) == AT_ONCE else None
        return changed, more

    def _renew(self, connection: Connection, row: Row[Any]) -> int:
        rows, keys, columns = self.place
        new: dict[str, Any] = {}
        unchanged = [rows.c[name] == getattr(row, name) for name in keys]
        for name in columns:
            stored = getattr(row, name)
            if stored is None or self.to.is_current(stored := _plain(stored)):
                continue
            new[name] = self._reencrypt_value(stored)
            unchanged.append(rows.c[name] == stored)
        if new:
            connection.execute(update(rows).where(*unchanged).values(new))
        return len(new)

    def _reencrypt_value(self, stored: str | bytes) -> str | bytes:
        if isinstance(stored, bytes):
            return self.to.encrypt_bytes(self.by.decrypt_bytes(stored))
        return self.to.encrypt(self.by.decrypt(stored))


def _plain(stored: Any) -> str | bytes:
    return stored if isinstance(stored, str) else bytes(stored)
