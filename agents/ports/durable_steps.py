"""The port for the durable engine: recorded steps, waits, and boundaries between stages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from agents.ports.json_types import Json


class Steps(Protocol):
    """The engine as a pipeline sees it."""

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:
        """Run `work` once in the life of the run, keep its JSON, and return it ever after.

        A step in flight when the process dies runs again: `work` must look before it writes.
        """
        ...

    async def wait(
        self, name: str, over: Callable[[], Awaitable[bool]], *, until: float | None = None
    ) -> None:
        """Hold no place until `over` says yes; once it has, never ask again.

        It is asked at the start, when the run is woken, at the time `until` (unix seconds), and
        now and then.
        """
        ...

    async def boundary(self) -> None:
        """Pass a place where stopping loses nothing; a shutdown holds the stage here."""
        ...
