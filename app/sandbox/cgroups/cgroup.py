"""Step 8: a control group for each command: what the kernel holds for all of it together.

Everything here may wait some milliseconds for the kernel: call it on another thread.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

PREFIX = "fettle."
"""What the names of our groups begin with; the number of their process follows."""

_PERIOD = 100_000  # microseconds, the kernel's own default
_PATIENCE = 200  # times 10 ms: processes that were killed take a moment to be gone
_THREADS = 4
_OPTIONAL = ("swap", "memsw", "oom.group")  # files that a kernel built without swap does not have

Writes = list[tuple[str, str, str]]
"""Controller, file, and what is written there."""


@dataclass(frozen=True)
class CgroupLimits:
    """What one command and everything that it starts may use together."""

    memory: int
    """Bytes, files in memory included."""
    processes: int
    """Threads count as well."""
    processors: float


class Cgroup:
    """The control group of one command."""

    def __init__(self, folders: list[Path], events: Path | None) -> None:
        self._folders = folders
        self._events = events

    def add(self, pid: int) -> None:
        """Put a process in, with all that it will start; it must not have started anything yet."""
        for folder in self._folders:
            _write(folder / "cgroup.procs", str(pid))

    def out_of_memory(self) -> bool:
        """Tell whether the kernel ended something because the memory was used up."""
        if self._events is None:
            return False
        counts = dict(line.split() for line in _read(self._events).splitlines())
        return counts.get("oom_kill", "0") != "0"

    def remove(self) -> None:
        """Remove the group as soon as nothing runs in it; what still does is ended."""
        for _ in range(_PATIENCE):
            self._folders = [folder for folder in self._folders if not _removed(folder)]
            if not self._folders:
                return
            for folder in self._folders:
                with suppress(OSError):  # cgroup v1 has no such file
                    _write(folder / "cgroup.kill", "1")
            time.sleep(0.01)


class CgroupFactory:
    """The places where this process may make control groups."""

    _numbers: ClassVar = itertools.count()  # for the whole process, like the names

    def __init__(
        self,
        version: str,
        places: Mapping[str, Path],
        home: Path,
        settings: Callable[[CgroupLimits], Writes],
        events: str,
    ) -> None:
        self.version = version
        self.holds = tuple(places)
        """Names of the controllers."""
        self._places = places
        self._home = home
        self._settings = settings
        self._events = events
        self.threads = ThreadPoolExecutor(_THREADS, "cgroup")
        """Where all of this is called; what is left to do there is done before the process ends."""

    def make(self, quota: CgroupLimits) -> Cgroup:
        """Return a new group with these limits. Raises OSError when the kernel refuses it.

        After a pause the first process to be moved waits for every processor, longer than
        bubblewrap sets up, and those soon after it do not. So the first thing is to move us to
        where we are: that time is spent here, while the command is prepared.
        """
        with suppress(OSError):
            _write(self._home / "cgroup.procs", str(os.getpid()))
        name = f"{PREFIX}{os.getpid()}.{next(self._numbers)}"
        folders = list({place / name: None for place in self._places.values()})
        try:
            for folder in folders:
                folder.mkdir()
            for controller, file, value in self._settings(quota):
                self._set(controller, name, file, value)
        except OSError:
            for folder in folders:
                _removed(folder)
            raise
        place = self._places.get("memory")
        return Cgroup(folders, place and place / name / self._events)

    def _set(self, controller: str, name: str, file: str, value: str) -> None:
        if controller not in self._places:
            return
        path = self._places[controller] / name / file
        try:
            _write(path, value)
        except FileNotFoundError:
            if not any(part in file for part in _OPTIONAL):
                raise

    def sweep(self) -> None:
        """Remove groups of processes that were killed before they could do it."""
        for place in set(self._places.values()):
            for folder in place.glob(f"{PREFIX}*.*"):
                owner = folder.name.split(".")[1]
                if not Path("/proc", owner).exists():
                    _removed(folder)


def unified(places: Mapping[str, Path], home: Path) -> CgroupFactory:
    """Return cgroups of version 2 below these places; `home` is the group that we are in."""
    return CgroupFactory("cgroup v2", places, home, _unified_settings, "memory.events")


def legacy(places: Mapping[str, Path]) -> CgroupFactory:
    """Return cgroups of version 1, where each controller has a tree of its own."""
    return CgroupFactory(
        "cgroup v1", places, places["memory"], _legacy_settings, "memory.oom_control"
    )


def _unified_settings(quota: CgroupLimits) -> Writes:
    return [
        ("memory", "memory.max", str(quota.memory)),
        ("memory", "memory.swap.max", "0"),
        ("memory", "memory.oom.group", "1"),
        ("pids", "pids.max", str(quota.processes)),
        ("cpu", "cpu.max", f"{int(quota.processors * _PERIOD)} {_PERIOD}"),
    ]


def _legacy_settings(quota: CgroupLimits) -> Writes:
    return [
        ("memory", "memory.limit_in_bytes", str(quota.memory)),
        ("memory", "memory.memsw.limit_in_bytes", str(quota.memory)),
        ("pids", "pids.max", str(quota.processes)),
        ("cpu", "cpu.cfs_quota_us", str(int(quota.processors * _PERIOD))),
    ]


def _read(path: Path) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096).decode()
    finally:
        os.close(fd)


def _write(path: Path, value: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
