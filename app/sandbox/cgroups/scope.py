"""The control group of one command, made and removed on threads beside the event loop."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from agents.errors import TransientError
from app.sandbox.cgroups.cgroup import Cgroup, CgroupFactory, CgroupLimits


class CommandCgroup:
    """One command's control group, made while bwrap sets up; does nothing without `cgroups`."""

    def __init__(self, cgroups: CgroupFactory | None, quota: CgroupLimits) -> None:
        self._cgroups = cgroups
        self.threads = cgroups.threads if cgroups else None
        """Threads on which to call `add`, which may wait for the kernel."""
        self._made = cgroups.threads.submit(cgroups.make, quota) if cgroups else None

    def add(self, pid: int) -> None:
        """Put a process into the group. Raises TransientError when the kernel refuses."""
        if self._made is None:
            return
        try:
            self._made.result().add(pid)
        except OSError as error:
            raise TransientError(f"The kernel refuses a control group: {error}") from error

    def ran_out_of_memory(self) -> bool:
        """Tell whether the kernel killed a process because the memory was used up."""
        if self._made is None or not self._made.done() or self._made.exception() is not None:
            return False
        return self._made.result().ran_out_of_memory()

    def release(self) -> None:
        """Have the group removed, also when the event loop ends meanwhile."""
        if self._made is not None:
            self._made.add_done_callback(self._remove)

    def _remove(self, made: Future[Cgroup]) -> None:
        if self._cgroups is not None and not made.cancelled() and made.exception() is None:
            self._cgroups.threads.submit(made.result().remove)


@contextmanager
def open_cgroup(cgroups: CgroupFactory | None, quota: CgroupLimits) -> Iterator[CommandCgroup]:
    """Yield the control group of a command, and have it removed afterwards."""
    held = CommandCgroup(cgroups, quota)
    try:
        yield held
    finally:
        held.release()
