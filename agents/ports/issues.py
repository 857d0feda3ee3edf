"""The port for issues: the run's issue, its links, and comments on it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from agents.ports.json_types import Block
from agents.requests import Frozen

DECISION = "decision-"
"""So begins, behind the issue's number, the branch of a decision's record: nobody goes on there."""


class SubIssue(Frozen):
    """A part of the run's issue. Title and body are its author's words: untrusted."""

    number: int
    title: str
    body: str
    state: Literal["open", "closed"]
    author: str
    """Login; empty when the account is gone."""
    author_may_write: bool
    """Whether the author has write access now, or is Fettle. Anybody can file an issue, and its
    author can change it at any time."""
    labels: tuple[str, ...] = ()
    blocked_by: tuple[int, ...] = ()
    """Numbers of open issues of this repository that have to be closed before."""
    elsewhere: str = ""
    """`owner/name` of its repository when that is another one: nothing for this run to work on, so
    it comes without body, labels and blockers."""

    @property
    def reference(self) -> str:
        """Return what people call it: `#7` or `owner/name#7`."""
        return f"{self.elsewhere}#{self.number}"


class NewSubIssue(Frozen):
    """A part that the run's issue should be divided into."""

    title: str
    body: str


class LinkedIssue(Frozen):
    """An issue or pull request that a text refers to, as its author wrote it: untrusted."""

    number: int
    kind: Literal["issue", "pull request"]
    title: str
    body: str
    """Bounded: what is left out of a long one is said in it."""
    state: Literal["open", "closed", "merged"]
    author: str
    author_may_write: bool
    """As for sub-issues: what somebody without write access says is not to be followed."""


class Picture(Frozen):
    """A picture that a text shows, downloaded and looked at from the outside, never decoded."""

    alt: str
    """What its author says it shows: untrusted."""
    url: str
    """Where the text says it is, without what may open it."""
    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: str
    """The file in base64."""
    width: int
    height: int

    @property
    def block(self) -> Block:
        """Return the picture as a block of a Messages-API message."""
        source = {"type": "base64", "media_type": self.media_type, "data": self.data}
        return {"type": "image", "source": source}


class Pictures(Frozen):
    """The pictures of a text."""

    shown: tuple[Picture, ...] = ()
    left_out: tuple[str, ...] = ()
    """Which ones are missing and why, a line for each."""


class EarlierPull(Frozen):
    """The open pull request that an earlier run made for this issue."""

    number: int
    url: str
    title: str
    branch: str
    head: str
    """Its newest commit. To update it, work has to be built on this one: the publisher pushes
    over nothing else."""
    base: str
    draft: bool
    run_id: str
    """The run that opened it, or brought it up to date last."""
    pushed_by: tuple[str, ...] = ()
    """Logins of others who have pushed to its branch."""


class NeighbourPull(Frozen):
    """An open pull request that is not the run's."""

    number: int
    author: str
    """Login; empty when the account is gone."""
    title: str
    """Its author's words: untrusted."""
    by_writer: bool
    """Whether the author has write access, or is Fettle."""
    files: tuple[str, ...] = ()
    """Paths that it changes, a hundred at most: untrusted where a stranger made it."""


class Remark(Frozen):
    """What somebody with write access, or the issue's author, said on the issue: untrusted."""

    id: int
    author: str
    role: str
    at: datetime
    body: str
    """Without commands, which are obeyed elsewhere."""
    edited: bool
    """It does not read as it did when it was made."""


class Remarks(Frozen):
    """What was said, oldest first."""

    said: tuple[Remark, ...] = ()
    """By people with write access."""
    by_author: tuple[Remark, ...] = ()
    """By the issue's author, where they may not write: to be read as the issue's text is."""
    by_outsiders: int = 0
    """Comments of bots and of people who may not write: counted only."""
    left_out: int = 0
    """Older comments beyond the limit."""
    newest: int = 0
    """Id of the newest comment that was looked at, whoever made it: ask from there next time."""


class Issues(Protocol):
    """The run's own issue on GitHub; runs without GitHub have none.

    Every call may be repeated. What GitHub refuses raises RunError, what may pass TransientError.
    """

    async def sub_issues(self) -> tuple[SubIssue, ...]:
        """Return the parts in GitHub's order; none where GitHub knows no such thing."""
        ...

    async def create_sub_issues(
        self, key: str, wanted: Sequence[NewSubIssue]
    ) -> tuple[SubIssue, ...]:
        """Make these parts once for each key, in this order, and return them.

        Interrupted and called again with the same, it makes what is missing.
        """
        ...

    async def label(self, name: str, *, on: bool, description: str = "") -> None:
        """Put the label on the issue or take it off; the repository gets it if it has none such."""
        ...

    async def find_linked(self, text: str, *, limit: int) -> tuple[LinkedIssue, ...]:
        """Return what the text refers to in this repository, in its order, at most `limit`."""
        ...

    async def pictures(self, text: str) -> Pictures:
        """Return the pictures that the text shows, as far as they lie on this GitHub.

        A picture that cannot be had is left out, and said so.
        """
        ...

    async def earlier_pull_request(self) -> EarlierPull | None:
        """Return the open pull request that Fettle made for this issue before; the newest one."""
        ...

    async def neighbours(self, *, on_issue: bool = False) -> tuple[NeighbourPull, ...]:
        """Return open pull requests besides the run's own: those touched last, not all of many.

        `on_issue`: only those that refer to the run's issue.
        """
        ...

    async def discussion(self) -> str:
        """Return what people with write access had said when the run was asked for: untrusted.

        Bounded; says how many comments of others, and later ones, are not in it. Empty when there
        were no comments.
        """
        ...

    async def remarks(self, *, after: int = 0) -> Remarks:
        """Return what was said since the run was asked for, beyond the comment with this id."""
        ...
