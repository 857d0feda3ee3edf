"""One writer at a time for each mirror, among the coroutines of a process and among processes.

A lock file has one byte in it from the moment that it is taken until its holder is done: whoever
finds the byte there knows that the last holder was cut off in the middle of its work.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.errors import TransientError

_PAUSE = 0.02


@dataclass(frozen=True)
class HeldLock:
    """A lock that this process holds."""

    fd: int
    """The descriptor; a child that inherits it keeps the lock held when this process is killed."""
    abandoned: bool
    """The last holder was killed, or failed, before it was done."""


@asynccontextmanager
async def file_lock(path: Path, *, timeout: float = 900) -> AsyncIterator[HeldLock]:
    """Hold the lock file; TransientError when somebody else keeps it for `timeout` seconds.

    The kernel gives it back when the process and all children that inherited it are dead, so a
    lock is never stale (flock(2)).
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        await _take(fd, path, asyncio.get_running_loop().time() + timeout)
        try:
            abandoned = os.fstat(fd).st_size > 0
            os.pwrite(fd, b"1", 0)
            yield HeldLock(fd, abandoned)
            os.ftruncate(fd, 0)
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)  # a child that only reads may still have inherited it
    finally:
        os.close(fd)


async def _take(fd: int, path: Path, until: float) -> None:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if asyncio.get_running_loop().time() > until:
                raise TransientError(f"`{path}` stayed locked by another run.") from error
            await asyncio.sleep(_PAUSE)
        else:
            return


def remove_git_locks(gitdir: Path) -> None:
    """Remove the locks that a killed git left in this repository; the caller is its only writer.

    Git never removes another's lock, and no ref's name ends with `.lock` (git-check-ref-format(1)).
    """
    objects = gitdir / "objects"
    for folder in (gitdir, objects, objects / "info", objects / "pack"):
        _remove(folder.glob("*.lock"))
    _remove((gitdir / "refs").rglob("*.lock"))
    _remove([gitdir / "gc.pid"])


def _remove(locks: Iterable[Path]) -> None:
    for lock in locks:
        lock.unlink(missing_ok=True)
