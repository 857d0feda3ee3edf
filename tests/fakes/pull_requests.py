"""A pull request, with fakes of the ports Reviewing and Checking: its reviews and its checks."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.ports import Feedback, PullRequest, PullSnapshot


def build_pull_snapshot(**changes):
    """Return Fettle's own pull request 31 as it is now."""
    about = {
        "number": 31,
        "title": "Add",
        "body": "",
        "state": "open",
        "draft": False,
        "own": True,
        "author_may_write": True,
        "branch": "bot/7-add-0a0a0a",
        "head": "a" * 40,
        "base": "main",
        "conflicts": False,
        "foreign": False,
    }
    return PullSnapshot(**about | changes)


@dataclass
class MemoryReviewing:
    """The port Reviewing over plain lists; its pull request's head is where its branch is."""

    is_now: PullSnapshot
    feedback_: Feedback = field(default_factory=Feedback)
    of_writers: Feedback = None
    """What is left of it where outsiders are not read; None: the same."""
    earlier: list = field(default_factory=list)
    """The batches of earlier runs."""
    branches: dict = field(default_factory=dict)
    """Those of the source; the world sees to it."""
    replies: dict = field(default_factory=dict)
    """Verdict and text by thread id, in the order in which they were posted."""
    resolved: list = field(default_factory=list)
    stays_open: dict = field(default_factory=dict)
    """Why, by thread id, GitHub resolves a thread for nobody."""
    requested: list = field(default_factory=list)
    unasked: set = field(default_factory=set)
    """Logins of whom GitHub asks for no review."""
    suggested: dict = field(default_factory=dict)
    """Text and suggestions of reviews by key."""
    stacked: list = field(default_factory=list)
    """Numbers of Fettle's pull requests that were made to stand on it."""
    replaced_by: int = 0
    """The one that takes the place of those."""
    dealt: list = field(default_factory=list)
    """What this run has dealt with: the later word stands."""

    async def pull(self):
        head = self.branches.get(self.is_now.branch, self.is_now.head)
        return self.is_now.model_copy(update={"head": head})

    async def feedback(self, *, outsiders=False):
        return self.feedback_ if outsiders else self.of_writers or self.feedback_

    async def reply(self, thread, verdict, body):
        self.replies.setdefault(thread.id, (verdict, body))
        return f"url/reply-{thread.id}"

    async def has_answered(self, thread):
        return thread.id in self.replies

    async def resolve(self, thread):
        why = self.stays_open.get(thread.id, "")
        if not why and thread.id not in self.resolved:
            self.resolved.append(thread.id)
        return why

    async def ask_again(self, reviewers):
        asked = [each.login for each in reviewers if each.login not in self.unasked]
        self.requested += [login for login in asked if login not in self.requested]
        return tuple(asked)

    async def suggest(self, key, body, suggested):
        self.suggested.setdefault(key, (body, tuple(suggested)))
        return f"url/{key}"

    async def dealt_with(self, batch):
        self.dealt[:] = [batch]

    async def batches(self):
        return tuple(self.earlier)

    async def list_stacked(self):
        return tuple(self.stacked)

    async def replace_stacked(self, number):
        self.replaced_by = number


@dataclass
class MemoryChecking:
    """The port Checking: what is said of each commit; `later` is said from the next look on."""

    said: dict = field(default_factory=dict)
    """Checks by commit."""
    later: list = field(default_factory=list)
    logs: dict = field(default_factory=dict)
    """The whole text by the check's name."""
    looked: list = field(default_factory=list)

    async def list_checks(self, commit):
        self.looked.append(commit)
        checks = tuple(self.said.get(commit, ()))
        if self.later:
            self.said.update(self.later.pop(0))
        return checks

    async def log(self, check, *, limit):
        return self.logs.get(check.name, "[no log can be read]")[-limit:]


def build_pull_request(number, **changes):
    """Return a pull request that a run has opened."""
    usual = {
        "number": number,
        "url": "https://x.example/1",
        "branch": "bot/1-x",
        "head": "a" * 40,
        "base": "main",
        "title": "Title",
        "body": "",
        "draft": False,
    }
    return PullRequest(**usual | changes)
