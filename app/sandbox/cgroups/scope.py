"""Step 8: the control group that holds one command, if there is one, beside the event loop."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from agents.errors import TransientError
from app.sandbox.cgroups.cgroup import Cgroup, CgroupFactory, CgroupLimits


class CommandCgroup:
    """One command's control group, which is being made while its sandbox is set up."""

    def __init__(self, cgroups: CgroupFactory | None, quota: CgroupLimits) -> None:
        self._cgroups = cgroups
        self.threads = cgroups.threads if cgroups else None
        """Where a process is to be put in, which may wait for the kernel."""
        self._made = cgroups.threads.submit(cgroups.make, quota) if cgroups else None

    def add(self, pid: int) -> None:
        """Put a process in. Raises TransientError when the kernel refuses."""
        if self._made is None:
            return
        try:
            self._made.result().add(pid)
        except OSError as error:
            raise TransientError(f"The kernel refuses a control group: {error}") from error

    def out_of_memory(self) -> bool:
        """Tell whether the kernel ended something because the memory was used up."""
        if self._made is None or not self._made.done() or self._made.exception() is not None:
            return False
        return self._made.result().out_of_memory()

    def let_go(self) -> None:
        """Remove it, as soon as nothing runs in it; also when the event loop ends meanwhile."""
        if self._made is not None:
            self._made.add_done_callback(self._remove)

    def _remove(self, made: Future[Cgroup]) -> None:
        if self._cgroups is not None and not made.cancelled() and made.exception() is None:
            self._cgroups.threads.submit(made.result().remove)


@contextmanager
def hold(cgroups: CgroupFactory | None, quota: CgroupLimits) -> Iterator[CommandCgroup]:
    """Have a control group for as long as the command runs."""
    held = CommandCgroup(cgroups, quota)
    try:
        yield held
    finally:
        held.let_go()
