"""Measure the disk space of deleted files that a command's processes still hold open.

A walk does not find them: they keep their room until the last process closes or unmaps them.
https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_IN_MEMORY = ("/memfd:", "/dev/shm/", "/SYSV", "/dev/zero")  # noqa: S108 as the kernel names them
_BLOCK = 512  # bytes of st_blocks, stat(2)
_PROC = Path("/proc")


class CommandProcesses:
    """The processes of one command: those of its process namespace."""

    def __init__(self) -> None:
        self._namespace = ""

    def note(self, pid: int) -> None:
        """Remember the namespace of a process that is in it."""
        with suppress(OSError):  # then nothing is counted
            self._namespace = _read_namespace(_PROC / str(pid))

    def count_deleted(self) -> int:
        """Return the bytes of disk that they hold without a name; some milliseconds of work."""
        if not self._namespace:
            return 0
        held: dict[tuple[int, int], int] = {}
        for process in _PROC.glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                if _read_namespace(process) == self._namespace:
                    for link in _list_open(process):
                        held |= _weigh(link)
        return sum(held.values())


def _read_namespace(process: Path) -> str:
    return str((process / "ns" / "pid").readlink())


def _list_open(process: Path) -> Iterator[Path]:
    """Yield the links to what a process has open, or mapped where the kernel lets us look."""
    for name in ("fd", "map_files"):
        with suppress(OSError):
            yield from (process / name).iterdir()


def _weigh(link: Path) -> dict[tuple[int, int], int]:
    """Return the bytes of a file without a name, by its device and number; nothing for others."""
    with suppress(OSError):
        found = link.stat()
        unnamed = found.st_nlink == 0 and stat.S_ISREG(found.st_mode)
        if unnamed and not str(link.readlink()).startswith(_IN_MEMORY):
            return {(found.st_dev, found.st_ino): found.st_blocks * _BLOCK}
    return {}
