"""One at a time, among all test processes of one checkout."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from pathlib import Path

LOCKS = Path(__file__).resolve().parents[1] / ".cache" / "tests"


@contextmanager
def hold_lock(name):
    """Wait for every other process that does the same; locks of processes that died are free."""
    LOCKS.mkdir(parents=True, exist_ok=True)
    with (LOCKS / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
