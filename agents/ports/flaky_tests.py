"""The port for tests that fail now and then: what runs saw of them, for later runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agents.requests import Frozen


class FlakySighting(Frozen):
    """A test that failed and passed in the same files. Both texts are the repository's."""

    command: str
    """The check that it belongs to."""
    name: str
    unchanged: bool = False
    """Whether it was seen to fail without any change of Fettle's, too."""


class FlakyTest(Frozen):
    """What the runs on a repository saw of such a test."""

    command: str
    name: str
    runs: int
    """How many of them saw it."""
    unchanged: int
    """How many of those saw it without a change."""
    last_at: float
    """When it was last seen; unix seconds."""


class FlakyTests(Protocol):
    """Remembers such tests of the run's repository. It says where to look first."""

    async def list_known(self) -> Sequence[FlakyTest]:
        """Return what other runs than this one saw, the newest first."""
        ...

    async def note(self, seen: Sequence[FlakySighting]) -> None:
        """Remember what this run saw; the same again changes nothing."""
        ...
