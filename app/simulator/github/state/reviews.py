"""State of reviews, their threads, and the comments in those."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from app.simulator.github.accounts import Account, Thing
from app.simulator.github.state.world import AuthoredText, Pull

ReviewState = Literal["APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED"]
Side = Literal["LEFT", "RIGHT"]


@dataclass(frozen=True)
class Inline:
    """A remark that is to be made: on one line of the diff, or on several up to `line`."""

    path: str
    line: int
    body: str
    side: Side = "RIGHT"
    start_line: int | None = None
    start_side: Side | None = None


@dataclass(frozen=True)
class DiffPosition:
    """Where in a diff a line is; `position` counts the lines below the file's first `@@`."""

    hunk: str
    """The hunk down to the line."""
    position: int


@dataclass(eq=False, kw_only=True)
class Review(AuthoredText):
    """What somebody thinks of a pull request, as a whole and line by line."""

    pull: Pull
    state: ReviewState
    commit: str
    remarks: list[LineRemark] = field(default_factory=list)
    dismissal: str | None = None

    prefix = "PRR"


@dataclass(eq=False, kw_only=True)
class Thread(Thing):
    """A place in the diff, what was said there, and whether it is settled."""

    pull: Pull
    path: str
    side: Side
    start_side: Side | None
    original: DiffPosition
    original_line: int
    original_start_line: int | None
    original_commit: str
    original_base: str
    line: int | None
    """None once the line has changed."""
    start_line: int | None
    position: int | None
    commit: str
    """The newest commit on which `line` holds."""
    remarks: list[LineRemark] = field(default_factory=list)
    resolved_by: Account | None = None

    prefix = "PRRT"

    @property
    def outdated(self) -> bool:
        """Say whether the line that was meant is no longer there."""
        return self.line is None

    @property
    def resolved(self) -> bool:
        """Say whether somebody settled it."""
        return self.resolved_by is not None


@dataclass(eq=False, kw_only=True)
class LineRemark(AuthoredText):
    """One comment of a thread; each belongs to a review, a reply to one of its own."""

    review: Review
    thread: Thread
    reply_to: LineRemark | None = None

    prefix = "PRRC"


def opinion_of(pull: Pull, account: Account) -> ReviewState | None:
    """Return the last opinion of somebody that still counts; a mere comment is none."""
    every = [each.state for each in pull.reviews if each.author.account is account]
    return next((each for each in reversed(every) if each != "COMMENTED"), None)
