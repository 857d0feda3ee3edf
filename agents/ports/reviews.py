"""The port for reviews: a pull request, its threads, and answers to them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from agents.ports.issues import Remark
from agents.requests import Frozen, Person


class PullSnapshot(Frozen):
    """A pull request as it is now. Title and body are their author's words: untrusted."""

    number: int
    title: str
    body: str
    state: Literal["open", "closed", "merged"]
    draft: bool
    own: bool
    """Fettle opened it."""
    author_may_write: bool
    """Whether its author has write access now, or is Fettle: its code is theirs."""
    branch: str
    """The name of its head branch, in the repository that it lies in."""
    head: str
    base: str
    """The name of the branch that it wants to go to."""
    conflicts: bool
    """GitHub says that it cannot be merged as it is."""
    foreign: bool
    """Its commits lie in another repository: a fork."""
    why_not: str = ""
    """Why Fettle cannot push to its branch, for people; empty where it can."""
    pushed_by_us: bool = False
    """Whether Fettle pushed its head, by GitHub's own record of who pushed what: what a commit says
    of itself, anybody can write. False where there is no such record."""
    updater: str = ""
    """The login of the bot that opened it, if it is one that keeps dependencies up to date."""
    pushed_by_updater: bool = False
    """Whether that bot pushed its head, by the same record."""
    update_base: str = ""
    """Where it is Fettle's own and stands on the open pull request of such a bot: the name of the
    branch that this one wants to go to."""


class ThreadComment(Frozen):
    """One comment of a thread."""

    id: int
    author: Person
    role: str
    """Of its author, like `maintain`; empty for Fettle's own."""
    own: bool
    verdict: str = ""
    """What Fettle answered in it, as its hidden mark says: a verdict of the ledger."""
    body: str
    """As it stood when the run was asked for: untrusted."""
    edited: bool
    """It reads differently now."""
    praise: bool = False
    """It approves or thanks, and asks for nothing."""
    at: datetime
    url: str


STILL_WAITING = frozenset(("kept_back", "not_done", "later"))
"""Verdicts of answers that leave the thread waiting for the next run."""


class Thread(Frozen):
    """A review thread that nobody has resolved, with what writers and Fettle said in it."""

    id: str
    """By which GitHub's GraphQL interface knows it."""
    root: int
    """The id of its first comment: replies go there."""
    path: str
    start: int | None = None
    """The first of its lines, where it has several."""
    line: int | None
    """The (last) line it is about in the head's version of the file; None where it is outdated,
    about the whole file, or about a line that the pull request takes away."""
    original_line: int | None = None
    """The line in the commit that was reviewed."""
    side: Literal["LEFT", "RIGHT"] = "RIGHT"
    outdated: bool
    hunk: str
    """The part of the diff that it was written under: untrusted."""
    said: tuple[ThreadComment, ...]
    """Oldest first; never empty."""
    by_outsiders: int = 0
    """Comments in it that are left out: of bots and of people who may not write."""
    left_out: int = 0
    """Comments in it that are left out because there are so many: between the first and the
    newest ones."""
    may_resolve: bool = True
    """Whether GitHub lets Fettle resolve it."""
    url: str

    @property
    def ours_is_last(self) -> bool:
        """Return whether nobody has asked for anything since Fettle answered.

        An answer that what was asked for is kept back, or not done yet, is none to rest on: the
        next run takes it up. Thanks want no answer, but where Fettle has asked, `OK` is one.
        """
        last = next((each for each in reversed(self.said) if not each.praise), self.said[-1])
        unasked = last is self.said[-1] or last.verdict != "needs_human"
        return last.own and last.verdict not in STILL_WAITING and unasked

    @property
    def newest_word(self) -> int:
        """Return the id of people's newest comment that is more than praise; 0 for none."""
        return max((each.id for each in self.said if not (each.own or each.praise)), default=0)


class ReviewText(Frozen):
    """What a review says besides its threads."""

    id: int
    author: Person
    role: str
    state: Literal["approved", "changes_requested", "commented", "dismissed"]
    body: str
    """As it stood when the run was asked for: untrusted."""
    edited: bool
    at: datetime
    url: str


class Feedback(Frozen):
    """All that waits for an answer on the pull request."""

    threads: tuple[Thread, ...] = ()
    """In the order of the files, then of the lines."""
    reviews: tuple[ReviewText, ...] = ()
    """Reviews with a text that no earlier run has dealt with, oldest first."""
    remarks: tuple[Remark, ...] = ()
    """Comments of writers in the discussion that no earlier run has dealt with, oldest first."""
    reviewers: tuple[Person, ...] = ()
    """Who wrote any of these, first come first; never Fettle."""
    covered: tuple[int, ...] = ()
    """Ids of all reviews submitted so far: an answer to this feedback answers them."""
    newest_remark: int = 0
    """Id of the newest comment of the discussion that was looked at, whoever made it."""
    newest_at: datetime | None = None
    """When the newest of the reviews was submitted."""
    resolved: int = 0
    """Threads that are resolved already: counted only."""
    by_outsiders: int = 0
    """Comments and texts of reviews left out: of bots and of people who may not write."""
    from_outsiders: int = 0
    """Those of people who may not write that are in it, where they were asked for."""
    left_out: int = 0
    """Comments and threads left out because there are so many."""

    @property
    def waiting(self) -> tuple[Thread, ...]:
        """Return the threads in which Fettle has not had the last word."""
        return tuple(thread for thread in self.threads if not thread.ours_is_last)

    @property
    def nothing(self) -> bool:
        """Return whether nobody waits for anything."""
        return not (self.waiting or self.reviews or self.remarks)


class Batch(Frozen):
    """What one run has dealt with on its pull request, for the runs after it."""

    kind: Literal["reviews", "checks", "update"]
    head: str
    """The commit that was reviewed, or whose checks failed."""
    pushed: str = ""
    """The commit that was pushed as the answer; empty when there was nothing to push."""
    reviews: tuple[int, ...] = ()
    newest_remark: int = 0
    kept_back: bool = False
    """There is no answer that was good enough to be pushed, or none yet: what was said still waits
    for one, though the submission of these reviews is no reason any more to begin again."""


class Suggested(Frozen):
    """A change of some lines, for somebody else to commit."""

    path: str
    start: int
    """First and last line that it replaces, in the head's version of the file."""
    end: int
    lines: str
    """What should stand there instead, each line with its `\\n`; empty: they go."""


class Reviews(Protocol):
    """The run's own pull request on GitHub. Every call may be repeated: it looks before it writes.

    What GitHub refuses raises RunError, what may pass TransientError.
    """

    async def pull(self) -> PullSnapshot:
        """Return the pull request as it is now."""
        ...

    async def feedback(self, *, outsiders: bool = False) -> Feedback:
        """Return all that waits for an answer, as it stood when the run was asked for or later.

        `outsiders`: whether what people without write access say is in it as well; bots never are.
        """
        ...

    async def reply(self, thread: Thread, verdict: str, body: str) -> str:
        """Answer in the thread, once in the life of the run; return the answer's URL."""
        ...

    async def has_answered(self, thread: Thread) -> bool:
        """Tell whether an answer of this run stands in the thread."""
        ...

    async def resolve(self, thread: Thread) -> str:
        """Resolve the thread; return why it stays open, empty when it does not."""
        ...

    async def ask_again(self, reviewers: Sequence[Person]) -> tuple[str, ...]:
        """Request reviews of these people again; return the logins of those whom GitHub asked."""
        ...

    async def suggest(self, key: str, body: str, suggested: Sequence[Suggested]) -> str:
        """Post one review that suggests these changes; return its URL.

        Those that GitHub takes no suggestion for stand in the review's text instead.
        """
        ...

    async def dealt_with(self, batch: Batch) -> None:
        """Remember what this run has dealt with; said again, the later word stands."""
        ...

    async def batches(self) -> tuple[Batch, ...]:
        """Return what earlier runs have dealt with on this pull request, oldest first."""
        ...

    async def list_stacked(self) -> tuple[int, ...]:
        """Return the numbers of Fettle's pull requests that were made to stand on this one.

        Whatever became of them; oldest first.
        """
        ...

    async def replace_stacked(self, number: int) -> None:
        """Close those that are open but this one, with a word, since it takes their place.

        One to which others have pushed is theirs, and stays.
        """
        ...
