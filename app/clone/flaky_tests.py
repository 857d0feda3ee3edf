"""What runs on a clone saw fail now and then: in a database of the clone, as a run's is removed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.ports import FlakySighting, FlakyTest
from app.clone.preconditions import CloneStart, start_at
from app.maintenance.clone_folders import CLONES, DATABASE
from app.secrets.encryption import Cipher
from app.store.database import Database
from app.store.flaky_tests import StoredFlakyTests

CLONE = 0
"""The id of the one repository in such a database."""


def name_clone(start: CloneStart) -> str:
    """Return what tells this clone from others: what is kept for it is found by that."""
    return "clone-" + hashlib.sha256(bytes(start.clone.git.gitdir)).hexdigest()[:16]


def find_memory(data_dir: Path, start: CloneStart) -> Path:
    """Return the file of the clone's database; it is removed with folders of old runs."""
    return data_dir / CLONES / name_clone(start) / DATABASE


async def find_memory_at(data_dir: Path, path: Path) -> Path:
    """Return the same of the clone at `path`. Raises ConfigError where there is none."""
    return find_memory(data_dir, await start_at(path))


@dataclass(frozen=True)
class CloneFlakyTests:
    """The port `FlakyTests` on a clone. The file is made when there is something to remember."""

    file: Path
    cipher: Cipher
    run_id: str

    async def list_known(self) -> Sequence[FlakyTest]:
        """Return what other runs on this clone saw, the newest first."""
        if not self.file.exists():
            return ()
        async with self._open() as stored:
            return await stored.list_known()

    async def note(self, seen: Sequence[FlakySighting]) -> None:
        """Remember what this run saw; the same again changes nothing."""
        self.file.parent.mkdir(mode=0o700, exist_ok=True)
        async with self._open() as stored:
            await stored.note(seen)

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[StoredFlakyTests]:
        database = Database(f"sqlite:///{self.file}", self.cipher)
        try:
            await asyncio.to_thread(database.migrate)
            yield StoredFlakyTests(database, self.run_id, CLONE)
        finally:
            await asyncio.to_thread(database.close)
