"""The port for what people teach: what they said of earlier work, and what was proposed of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from agents.ports.repository import SetupProposal
from agents.requests import Frozen


class DeniedCall(Frozen):
    """What a call that somebody denied was about, as a rule of the policy names such things."""

    field: Literal["path", "host", "dependencies"]
    value: str = ""
    """The path or the host, untrusted: a model had chosen it. Empty for dependencies."""


class GuidanceEvidence(Frozen):
    """One thing that a person said of Fettle's work, or did about it."""

    about: str
    """Tells it from all others, for good."""
    kind: Literal["remark", "denial", "revert"]
    """A reviewer asked for a change; somebody denied an approval; a merged change was taken back.
    """
    number: int
    """The issue or pull request where that was."""
    said_by: str
    """The login of the person."""
    words: str
    """What was said, and about what: untrusted."""
    denied: DeniedCall | None = None
    """For a denial: what of; None where no rule could name it."""


LEAST = 3
"""Things that people said, without which nothing can have been said repeatedly."""
LEAST_PLACES = 2
"""Issues and pull requests that those have to come from."""


class GatheredEvidence(Frozen):
    """What people said since it was last proposed to write anything down."""

    evidence: tuple[GuidanceEvidence, ...] = ()
    """Oldest first; none that an earlier proposal was made of, whatever became of that."""
    declined: tuple[str, ...] = ()
    """Lines that were proposed before and that people did not want."""

    @property
    def enough(self) -> bool:
        """Return whether anything can have been said more than once, in more than one place."""
        places = {each.number for each in self.evidence}
        return len(self.evidence) >= LEAST and len(places) >= LEAST_PLACES


class GuidanceRecords(Protocol):
    """The records of the run's repository."""

    async def gather(self) -> GatheredEvidence:
        """Return what people said, bounded."""
        ...

    async def remember(self, number: int, lines: Sequence[str], used: Sequence[str]) -> None:
        """Keep for good what a pull request proposes; said again, nothing changes.

        `used`: the evidence behind it, by `GuidanceEvidence.about`.
        """
        ...


class SetupMemory(Protocol):
    """What a second look at the set-up of the run's repository came to, in this run or another."""

    async def recall(self) -> SetupProposal | None:
        """Return what the last one came to, if it helped, or was lately; None: look again."""
        ...

    async def note(self, proposal: SetupProposal) -> None:
        """Keep what came of this one, in the place of what was known."""
        ...

    async def settle(self, number: int) -> None:
        """Note that the owners were asked, in the pull request of that number, for good.

        0: there was nothing to ask.
        """
        ...
