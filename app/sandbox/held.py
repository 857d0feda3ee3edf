"""Step 8: the control group that holds one command, if there is one, beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from agents.errors import TransientError
from app.sandbox.cgroup import Cgroups, Group, Quota

T = TypeVar("T")


class Held:
    """One command's control group, which is being made while its sandbox is set up."""

    def __init__(self, cgroups: Cgroups | None, quota: Quota) -> None:
        self._wanted = cgroups is not None
        self._over = False
        self._made: asyncio.Future[Group] | None = None
        if cgroups is not None:
            # Not at once: first the process is started, which is busy enough by itself.
            asyncio.get_running_loop().call_soon(self._begin, cgroups, quota)

    def _begin(self, cgroups: Cgroups, quota: Quota) -> None:
        if not self._over:
            self._made = _beside(lambda: cgroups.make(quota))

    async def add(self, pid: int) -> None:
        """Put a process in. Raises TransientError when the kernel refuses."""
        if not self._wanted:
            return
        if self._made is None:
            raise TransientError("A command asked to begin before anything could hold it.")
        try:
            group = await asyncio.shield(self._made)
            await _beside(lambda: group.add(pid))
        except OSError as error:
            raise TransientError(f"The kernel refuses a control group: {error}") from error

    def out_of_memory(self) -> bool:
        """Tell whether the kernel ended something because the memory was used up."""
        if self._made is None or not self._made.done() or self._made.exception() is not None:
            return False
        return self._made.result().out_of_memory()

    def let_go(self) -> None:
        """Remove it, as soon as nothing runs in it."""
        self._over = True
        if self._made is not None:
            self._made.add_done_callback(_remove)


@contextmanager
def hold(cgroups: Cgroups | None, quota: Quota) -> Iterator[Held]:
    """Have a control group for as long as the command runs."""
    held = Held(cgroups, quota)
    try:
        yield held
    finally:
        held.let_go()


def _remove(made: asyncio.Future[Group]) -> None:
    if not made.cancelled() and made.exception() is None:
        _beside(made.result().remove)


def _beside(work: Callable[[], T]) -> asyncio.Future[T]:
    return asyncio.get_running_loop().run_in_executor(None, work)
