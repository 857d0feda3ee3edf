"""What a run made in git, kept in the database: its refs, and packs of their objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from agents.errors import RunError
from app.store.database import Database
from app.store.tables import checkpoints

LARGEST = 32 * 2**20
"""Bytes of all packs of a run."""
_FULL = (
    "The changes of this run come to more than {most:.0f} MB compressed, and Fettle keeps no more "
    "of a run. Add what was generated to .gitignore, or ask for a smaller part, then ask again."
)


class StoredCheckpoints:
    """The checkpoints of one run, in the table `checkpoints`.

    Each is thin: a reader needs what GitHub has, and the checkpoints before it.
    """

    def __init__(self, database: Database, run_id: str) -> None:
        self._database = database
        self._run_id = run_id
        self._mine = checkpoints.c.run_id == run_id

    async def refs(self) -> dict[str, str]:
        """Return the object id of each ref as it was last added."""
        query = select(checkpoints.c.refs).where(self._mine).order_by(checkpoints.c.number)
        found: dict[str, str] = {}
        rows: list[str] = await self._database.read(lambda c: list(c.scalars(query)))
        for each in rows:
            found |= json.loads(each)
        return {ref: oid for ref, oid in found.items() if oid}

    async def packs(self) -> list[bytes]:
        """Return the packs in the order in which they were added."""
        packed = (self._mine, checkpoints.c.size > 0)
        query = select(checkpoints.c.pack).where(*packed).order_by(checkpoints.c.number)
        return await self._database.read(lambda c: list(c.scalars(query)))

    async def add(self, refs: Mapping[str, str], pack: bytes = b"") -> None:
        """Store refs with a pack of what they lead to; it is on disk when this returns.

        An empty id takes a ref away. Raises RunError, for people, above 32 MB of packs.
        """
        counted = select(func.count(), func.sum(checkpoints.c.size)).where(self._mine)

        def store(connection: Connection) -> None:
            number, size = map(_as_int, connection.execute(counted).one())
            if pack and size + len(pack) > LARGEST:
                raise RunError(_FULL.format(most=LARGEST / 2**20))
            row: dict[str, Any] = {"run_id": self._run_id, "number": number}
            row |= {"refs": json.dumps(dict(refs)), "size": len(pack), "pack": pack}
            connection.execute(insert(checkpoints), row)

        await self._database.write(store)

    async def forget(self) -> None:
        """Delete all of them."""
        await self._database.write(lambda c: c.execute(delete(checkpoints).where(self._mine)))


def _as_int(value: Any) -> int:
    return int(value or 0)
