"""A fake of the port Publisher: it remembers what was let out."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.errors import Moved
from agents.ports import PullRequest
from tests.fakes.repository import MemoryHistory


@dataclass
class MemoryPublisher:
    """The port Publisher: remembers what was let out."""

    history: MemoryHistory = None
    branches: dict = field(default_factory=dict)
    """Where the branches on GitHub are, for everybody."""
    pushed: dict = field(default_factory=dict)
    pulls: dict = field(default_factory=dict)
    comments: dict = field(default_factory=dict)
    closes: tuple = ()

    async def push(self, branch, commit, *, replacing=""):
        now = self.branches.get(branch)
        if now and now != replacing and self.history and now not in self.history.ancestors(commit):
            raise Moved(f"{branch} is at {now}")
        self.pushed[branch] = self.branches[branch] = commit
        return f"url/{branch}"

    async def open_pull_request(
        self,
        *,
        branch,
        commit,
        title,
        body,
        draft,
        closes=(),
        evidence="",
        terms=None,
        onto="",
        lower=False,
    ):
        if not lower:
            self.closes, self.evidence, self.terms = closes, evidence, terms
        self.pulls[branch] = PullRequest(
            number=self.pulls[branch].number if branch in self.pulls else 2 + len(self.pulls),
            url="u",
            branch=branch,
            head=commit,
            base=onto or "main",
            title=title,
            body=body,
            draft=draft,
        )
        return self.pulls[branch]

    @property
    def opened(self):
        """The pull requests, in the order in which they were opened."""
        return [*self.pulls.values()]

    async def stack(self, pulls):
        self.stacked = [each.number for each in pulls]
        return False

    async def comment(self, key, body):
        self.comments[key] = body
        return f"url/{key}"
