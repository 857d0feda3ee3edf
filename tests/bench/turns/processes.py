"""What a process and everything it started use: CPU and memory, as the kernel counts them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.2
PR_SET_CHILD_SUBREAPER = 36
SANDBOX = "bwrap"


@dataclass(frozen=True)
class Cpu:
    """Seconds of a core."""

    own: float
    children: float
    """Of what it started, once that has ended."""

    def __sub__(self, other: Cpu) -> Cpu:
        return Cpu(self.own - other.own, self.children - other.children)


def cpu_of(pid: int) -> Cpu:
    """Return what the process has used so far, in the program and in the kernel."""
    fields = list(map(int, _stat(pid)[11:15]))
    return Cpu(sum(fields[:2]) / TICKS, sum(fields[2:]) / TICKS)


def pss_of(pid: int) -> float:
    """Return the MiB of memory that the process uses, shared pages by their share."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if line[:4] == "Pss:") / 1024


def list_children(pid: int, *, deep: bool = True) -> list[int]:
    """Return the processes that it started and, if `deep`, those that these started."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            number = int(entry.name)
            children.setdefault(int(_stat(number)[1]), []).append(number)
    found, look = [], [pid]
    while look:
        look = [child for parent in look for child in children.get(parent, [])]
        found += look
        look = look if deep else []
    return found


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


class Orphans:
    """The CPU time of sandboxes, which nobody else would count.

    Bubblewrap ends without waiting for the first process of its sandbox, so the time of that one
    and of all commands in it goes to whoever takes in orphans: this process, from now on.
    """

    def __init__(self) -> None:
        self.cpu = 0.0
        if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "cannot take in orphans")

    def reap(self) -> float:
        """Return the seconds of all that have ended so far; their parents have, too."""
        for pid in list_children(os.getpid(), deep=False):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().strip() == SANDBOX:
                    ended, _, used = os.wait4(pid, os.WNOHANG)
                    self.cpu += used.ru_utime + used.ru_stime if ended else 0.0
        return self.cpu


class Watch:
    """The most memory that a process, and what it started, ever used at a time: in MiB.

    Use as an async context manager around what is to be watched.
    """

    def __init__(self, pid: int, *, every: float = SAMPLE_SECONDS) -> None:
        self.own = self.children = 0.0
        self._pid, self._every = pid, every

    async def __aenter__(self) -> Self:
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watching

    async def _watch(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(self._every)

    def look(self) -> None:
        """Take a sample; what ended meanwhile counts for nothing."""
        with contextlib.suppress(OSError, StopIteration):
            self.own = max(self.own, pss_of(self._pid))
        total = 0.0
        for pid in list_children(self._pid):
            with contextlib.suppress(OSError, StopIteration):
                if _command(pid) != _command(self._pid):  # else it is about to become another
                    total += pss_of(pid)
        self.children = max(self.children, total)


def load_average() -> str:
    """Return how busy the machine is, to be printed beside what was measured on it."""
    return f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores"
