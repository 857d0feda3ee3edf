"""The control group of one command, by which the kernel limits all its processes together.

cgroups(7); the files of version 2: https://docs.kernel.org/admin-guide/cgroup-v2.html, those of
version 1: https://docs.kernel.org/admin-guide/cgroup-v1/index.html. Everything here may wait some
milliseconds for the kernel: call it on another thread.
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
"""The start of the names of Fettle's groups; the process id of their Fettle follows."""

_PERIOD = 100_000  # microseconds, the kernel's own default
_PATIENCE = 200  # times 10 ms: processes that were killed take a moment to be gone
_THREADS = 4
_OPTIONAL = ("swap", "memsw", "oom.group")  # files that a kernel built without swap does not have

CgroupSettings = list[tuple[str, str, str]]
"""Controller, file, and the value to write there."""


@dataclass(frozen=True)
class CgroupLimits:
    """What one command and all that it starts may use together."""

    memory: int
    """Bytes of memory, files in memory included; no swap besides."""
    processes: int
    """Processes and threads."""
    processors: float


class Cgroup:
    """The control group of one command."""

    def __init__(self, folders: list[Path], events: Path | None) -> None:
        self._folders = folders
        self._events = events

    def add(self, pid: int) -> None:
        """Put a process in, with all that it will start; it must have started nothing yet."""
        for folder in self._folders:
            _write(folder / "cgroup.procs", str(pid))

    def ran_out_of_memory(self) -> bool:
        """Tell whether the kernel killed a process because the memory was used up."""
        if self._events is None:
            return False
        counts = dict(line.split() for line in _read(self._events).splitlines())
        return counts.get("oom_kill", "0") != "0"

    def remove(self) -> None:
        """Kill what still runs in the group, and remove the group."""
        for _ in range(_PATIENCE):
            self._folders = [folder for folder in self._folders if not _try_remove(folder)]
            if not self._folders:
                return
            for folder in self._folders:
                with suppress(OSError):  # cgroup v1 has no such file
                    _write(folder / "cgroup.kill", "1")
            time.sleep(0.01)


class CgroupFactory:
    """Makes control groups in the places that were delegated to this process."""

    _numbers: ClassVar = itertools.count()  # for the whole process, like the names

    def __init__(
        self,
        version: str,
        places: Mapping[str, Path],
        home: Path,
        settings: Callable[[CgroupLimits], CgroupSettings],
        events: str,
    ) -> None:
        self.version = version
        self.controllers = tuple(places)
        """Names of the controllers."""
        self._places = places
        self._home = home
        self._settings = settings
        self._events = events
        self.threads = ThreadPoolExecutor(_THREADS, "cgroup")
        """Threads on which to call all of this; Python waits for them before the process ends."""

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
                _try_remove(folder)
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
        """Remove the groups that killed processes of Fettle left behind."""
        for place in set(self._places.values()):
            for folder in place.glob(f"{PREFIX}*.*"):
                owner = folder.name.split(".")[1]
                if not Path("/proc", owner).exists():
                    _try_remove(folder)


def use_version_2(places: Mapping[str, Path], home: Path) -> CgroupFactory:
    """Return what makes groups of version 2 in these places; `home` is this process's own group."""
    return CgroupFactory("cgroup v2", places, home, _list_version_2_settings, "memory.events")


def use_version_1(places: Mapping[str, Path]) -> CgroupFactory:
    """Return what makes groups of version 1, where each controller has a tree of its own."""
    return CgroupFactory(
        "cgroup v1", places, places["memory"], _list_version_1_settings, "memory.oom_control"
    )


def _list_version_2_settings(quota: CgroupLimits) -> CgroupSettings:
    return [
        ("memory", "memory.max", str(quota.memory)),
        ("memory", "memory.swap.max", "0"),
        ("memory", "memory.oom.group", "1"),
        ("pids", "pids.max", str(quota.processes)),
        ("cpu", "cpu.max", f"{int(quota.processors * _PERIOD)} {_PERIOD}"),
    ]


def _list_version_1_settings(quota: CgroupLimits) -> CgroupSettings:
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


def _try_remove(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
