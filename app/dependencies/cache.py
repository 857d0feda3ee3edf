"""The cache of installed dependencies: complete entries by key, the oldest dropped first."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import ValidationError

from app.dependencies.cache_entry import Manifest
from app.git import file_lock
from app.git.worktree import remove_tree
from app.sandbox.path_permissions import make_passable

BUDGET = 20 * 1024**3  # bytes of all entries together; beyond it the longest unused go
_UNLOCKED_SECONDS = 7 * 86_400.0  # without a lock file, newer versions are looked for after this
_IN_USE_SECONDS = 6 * 3600.0  # a run touches its entry at every command: younger is in use
_OWN_SECONDS = 30 * 86_400.0  # a run drops its own when it ends: this is of one that was lost
_MANIFEST = "manifest.json"
_BUILDING, _ADDING, _GONE = "new-", "adding-", "gone-"

log = structlog.get_logger()


@dataclass(frozen=True)
class Entry:
    """A complete entry on disk."""

    folder: Path
    manifest: Manifest

    @property
    def there(self) -> bool:
        """Tell whether the entry still exists, and mark it as in use now."""
        try:
            os.utime(self.folder / _MANIFEST)
        except FileNotFoundError:
            return False
        return True


class Store:
    """The cache's entries; each repository has a folder of its own."""

    def __init__(self, root: Path, group: int, *, budget: int = BUDGET) -> None:
        self._root = root
        self._group = group
        self._budget = budget
        self._lent: set[Path] = set()

    @asynccontextmanager
    async def lock(self, name: str, *, timeout: float) -> AsyncIterator[Path]:
        """Lock a repository's entries against other builders, and yield their folder."""
        folder = self._root / name
        make_passable(folder)
        async with file_lock(self._root / f"{name}.lock", timeout=timeout):
            yield folder

    def list_unfinished(self, folder: Path) -> list[Path]:
        """Return half-built entries of dead processes; the caller holds the lock."""
        return list(folder.glob(f"{_BUILDING}*"))

    def find(self, name: str, key: str, base: str, owner: str) -> Entry | None:
        """Return the entry for this key, or the failed one that this owner (a run) was left with.

        Output compiled within the tree is valid only for the commit it was compiled from.
        """
        own = self._entry(self._root / name / f"{key}-{owner}")
        if own is not None:  # so that a run sees the same from its beginning to its end
            return own
        found = (self._entry(path) for path in (self._root / name).glob(f"{key}-ok-*"))
        fresh = [entry for entry in found if entry and _holds(entry.manifest, base)]
        return max(fresh, key=lambda entry: entry.manifest.made, default=None)

    async def forget(self, name: str, owner: str) -> None:
        """Delete entries that served this owner alone."""
        for folder in (self._root / name).glob(f"*-{owner}"):
            await asyncio.to_thread(_drop, folder)

    def make_build_folder(self, folder: Path) -> Path:
        """Return a new folder to build in, which only its own sandbox can reach."""
        return self._make_folder(folder / f"{_BUILDING}{secrets.token_hex(6)}")

    def make_addition_folder(self, name: str, owner: str) -> Path:
        """Return a new folder for this owner's additions; its half-done ones are deleted.

        Other builders leave it alone, and `forget` deletes it.
        """
        folder = self._root / name
        make_passable(folder)
        for left in folder.glob(f"{_ADDING}*-{owner}"):
            if left not in self._lent:
                _drop(left)
        return self._make_folder(folder / f"{_ADDING}{secrets.token_hex(6)}-{owner}")

    @asynccontextmanager
    async def lend_folder(self, name: str, owner: str) -> AsyncIterator[Path]:
        """Lend a new folder to a command, beside which the owner's other commands begin and end."""
        folder = self.make_addition_folder(name, owner)
        self._lent.add(folder)
        try:
            yield folder
        finally:
            self._lent.discard(folder)
            await asyncio.to_thread(remove_tree, folder)

    def _make_folder(self, made: Path) -> Path:
        made.mkdir()
        if os.geteuid() == 0:
            os.chown(made, -1, self._group)
        made.chmod(0o750)
        return made

    async def keep(
        self, building: Path, key: str, manifest: Manifest, owner: str, *, own: bool = False
    ) -> Entry:
        """Move the built entry into its place atomically.

        A failed entry, and one that a run added to, serves its owner alone, like what is its `own`.
        """
        own = own or bool(manifest.result.problems or manifest.added)
        suffix = owner if own else f"ok-{secrets.token_hex(6)}"
        target = building.parent / f"{key}-{suffix}"
        await asyncio.to_thread(_publish_build, building, target, manifest)
        return Entry(target, manifest)

    async def tidy(self) -> None:
        """Delete failed entries after a day, and the longest unused ones above `BUDGET` bytes."""
        await asyncio.to_thread(self._tidy, time.time())

    def _tidy(self, now: float) -> None:
        for left in self._root.glob(f"*/{_GONE}*"):
            remove_tree(left)
        total = 0
        for used, entry in sorted(self._entries(), key=lambda pair: pair[0], reverse=True):
            total += entry.manifest.size
            added = bool(entry.manifest.added)  # its run may be waiting for people
            old = (added or entry.manifest.result.problems) and used < now - _OWN_SECONDS
            full = total > self._budget and not added
            if old or (full and used < now - _IN_USE_SECONDS):
                log.info("set-up dropped", entry=entry.folder.name, size=entry.manifest.size)
                _drop(entry.folder)

    def _entries(self) -> Iterator[tuple[float, Entry]]:
        for manifest in self._root.glob(f"*/*/{_MANIFEST}"):
            entry = self._entry(manifest.parent)
            if entry is not None:
                yield manifest.stat().st_mtime, entry

    def _entry(self, folder: Path) -> Entry | None:
        try:
            return Entry(folder, Manifest.model_validate_json((folder / _MANIFEST).read_text()))
        except (OSError, ValidationError):
            return None


def _holds(manifest: Manifest, base: str) -> bool:
    if manifest.compiled and manifest.base != base:
        return False
    return manifest.locked or manifest.made > time.time() - _UNLOCKED_SECONDS


def _publish_build(building: Path, target: Path, manifest: Manifest) -> None:
    (building / _MANIFEST).write_text(manifest.model_dump_json())
    if target.exists():
        _drop(target)
    building.rename(target)


def _drop(folder: Path) -> None:
    """Take an entry away: out of sight at once, then from disk."""
    gone = folder.parent / f"{_GONE}{secrets.token_hex(6)}"
    folder.rename(gone)
    remove_tree(gone)
