"""The disk that commands may fill: bytes and files for each run, and a reserve that stays free.

To walk a run's folders is dear, to ask the disk how much is free costs nothing (statvfs(3)). So
the folders are walked only when more of the disk is gone than the run may still take. What a walk
does not find, because its name is gone, counts as well.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cachetools import LRUCache

from agents.errors import TransientError
from app.sandbox.output_buffer import HeadTailBuffer
from app.sandbox.port import OperatorLimits, SandboxCommand
from app.sandbox.process_group import run_group

MB = 1024 * 1024

LOOK_EVERY = 0.25
"""Seconds between two looks at what a command has taken."""

_UNSEEN = 64 * MB  # what may vanish from the disk before a folder that nobody measured is walked
_UNSEEN_FILES = 20_000  # the same of files
_OLDEST = 30.0  # seconds after which a long command's folders are walked in any case
_RUNS = 10_000  # folders whose size is remembered
_RETRY = 60.0
_FEWEST = 200  # one in so many names for files (inodes) stays free


@dataclass
class _DiskUsage:
    """What a run's folders take, and what was free on the disk then; `known` once walked."""

    size: int
    """Bytes."""
    files: int
    free: int
    """Bytes."""
    free_files: int
    measured_at: float
    walk_seconds: float = 0.0
    known: bool = False


class DiskQuota:
    """Remembers how many bytes the folders of runs take."""

    def __init__(self, bounds: OperatorLimits) -> None:
        self.bounds = bounds
        self._usage: LRUCache[Path, _DiskUsage] = LRUCache(_RUNS)

    def allow(
        self, command: SandboxCommand, count_deleted: Callable[[], int] = lambda: 0
    ) -> DiskAllowance:
        """Return what a command may still fill. Raises TransientError when the disk is full.

        `count_deleted`: tells how many bytes its processes hold in files without a name.
        """
        written = (m.changes or (m.source if m.writable else None) for m in command.mounts)
        folders = tuple(folder for folder in written if folder)
        if folders:
            folders += command.kept
            self.require_free(folders[0], self.bounds.reserve)
        return DiskAllowance(self, folders, count_deleted)

    def describe(self, *, deleted: bool = True) -> str:
        """Return what an operator should know of how the disk is held, in a sentence or two.

        `deleted`: files without a name are counted, see `allow`.
        """
        unseen = (
            "" if deleted else " What a command holds in files that it has removed is not seen."
        )
        return (
            f"Each run may fill {self.bounds.disk // MB} MB with {self.bounds.files} files. That is"
            f" looked at {round(1 / LOOK_EVERY)} times a second, not held by the kernel: a command"
            f" can be over it for a moment, before it is ended.{unseen}"
        )

    def require_free(self, folder: Path, reserve: int) -> None:
        """Raise TransientError, with the remedy, unless `reserve` bytes are free on the disk."""
        status = os.statvfs(folder)
        free = status.f_bavail * status.f_frsize
        if free < reserve:
            raise TransientError(
                f"Only {free // MB} MB are free on the disk of `{folder}`, and commands of agents "
                f"leave {reserve // MB} MB alone. Free some space, or give less of it away: "
                f"FETTLE_DISK_RESERVE_MB is what stays free.",
                retry_after=_RETRY,
            )
        if status.f_files > 0 and status.f_favail < status.f_files // _FEWEST:
            raise TransientError(
                f"The disk of `{folder}` has no room for more files, however small (it is out of "
                f"inodes). Remove some.",
                retry_after=_RETRY,
            )

    def get_usage(self, folder: Path) -> _DiskUsage:
        """Return what is known of the run whose first folder this is."""
        if folder not in self._usage:
            self._usage[folder] = _DiskUsage(
                size=max(0, self.bounds.disk - _UNSEEN),
                files=max(0, self.bounds.files - _UNSEEN_FILES),
                free=_read_free_bytes(folder),
                free_files=_read_free_files(folder),
                measured_at=time.monotonic(),
            )
        return self._usage[folder]

    def remember(self, folder: Path, seen: _DiskUsage) -> None:
        """Keep what a walk of the run's folders found."""
        self._usage[folder] = seen


class DiskAllowance:
    """What one command may fill of the disk, watched from its beginning to its end."""

    def __init__(
        self, disk: DiskQuota, folders: Sequence[Path], count_deleted: Callable[[], int]
    ) -> None:
        self._disk = disk
        self._folders = folders
        self._count_deleted = count_deleted
        self._most, self._most_files = disk.bounds.disk, disk.bounds.files
        if folders:
            seen = disk.get_usage(folders[0])
            # What is too large already may be worked on, so that somebody can clean up.
            self._most = max(self._most, seen.size if seen.known else 0)
            self._most_files = max(self._most_files, seen.files if seen.known else 0)

    async def watch(self) -> None:
        """Return when the command has taken more than its run may have; see `is_exceeded`."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if await self.is_exceeded():
                return

    async def is_exceeded(self) -> bool:
        """Tell, while the command runs, whether it took more than its run may have.

        Raises TransientError when the whole disk gets full, whoever is to blame.
        """
        if not self._folders:
            return False
        self._disk.require_free(self._folders[0], self._disk.bounds.reserve // 2)
        return self._may_be_exceeded(patient=False) and await self._measure()

    async def was_exceeded(self) -> bool:
        """Tell, at the end of the command, whether it took more than its run may have."""
        return bool(self._folders) and self._may_be_exceeded(patient=True) and await self._measure()

    def _may_be_exceeded(self, *, patient: bool) -> bool:
        seen = self._disk.get_usage(self._folders[0])
        age = time.monotonic() - seen.measured_at
        if not patient and age < 10 * seen.walk_seconds:
            return False
        gone = seen.free - _read_free_bytes(self._folders[0])
        old = not patient and age > _OLDEST
        return seen.size + gone > self._most or self._may_have_too_many_files(seen) or old

    def _may_have_too_many_files(self, seen: _DiskUsage) -> bool:
        gone = seen.free_files - _read_free_files(self._folders[0])
        return seen.files + gone > self._most_files

    async def _measure(self) -> bool:
        started, first = time.monotonic(), self._folders[0]
        free = _read_free_bytes(first)
        before, free_files = self._disk.get_usage(first), _read_free_files(first)
        size, whole = await _measure("-k", self._folders)
        size *= 1024
        if not whole:  # what the command hides from us is still missing from the disk
            size = max(size, (before.size if before.known else 0) + before.free - free)
        files = before.files + before.free_files - free_files
        if files > self._most_files or not before.known:
            files, _ = await _measure("--inodes", self._folders)
        held = await asyncio.to_thread(self._count_deleted)
        now = time.monotonic()
        usage = _DiskUsage(size, files, free, free_files, now, now - started, known=True)
        self._disk.remember(first, usage)
        return size + held > self._most or files > self._most_files


def _read_free_bytes(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def _read_free_files(folder: Path) -> int:
    """Return for how many more files there is room; 0 where the disk does not count them."""
    return os.statvfs(folder).f_favail


async def _measure(unit: str, folders: Sequence[Path]) -> tuple[int, bool]:
    """Return what the folders take, and whether all of them could be looked into.

    `unit`: `-k` for kilobytes, `--inodes` for files. `du` is used to trees as deep and as quickly
    changing as agents make them.
    """
    said, faults = HeadTailBuffer(10_000, 1_000_000), HeadTailBuffer(10_000, 100 * MB)
    await run_group(
        ["du", "-sxc", unit, "--", *map(str, folders)],
        environment={"PATH": os.defpath, "LC_ALL": "C"},
        timeout=600,
        out=said,
        err=faults,
    )
    last = said.text().rstrip().rpartition("\n")[2].split("\t")[0]
    return int(last) if last.isdigit() else 0, "Permission denied" not in faults.text()
