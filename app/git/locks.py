"""One writer at a time for each mirror, among the coroutines of a process and among processes."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agents.errors import TransientError

_PAUSE = 0.02


@asynccontextmanager
async def file_lock(path: Path, *, timeout: float = 900) -> AsyncIterator[None]:
    """Hold the lock file; TransientError when somebody else keeps it for `timeout` seconds.

    The kernel gives it back when the process dies, so a lock is never stale.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        await _take(fd, path, asyncio.get_running_loop().time() + timeout)
        yield
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
