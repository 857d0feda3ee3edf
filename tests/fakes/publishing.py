"""Fakes of the ports Publisher and Reporter: they remember what was let out."""

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

    async def push(self, branch, commit):
        now = self.branches.get(branch)
        if now and self.history and now not in self.history.ancestors(commit):
            raise Moved(f"{branch} is at {now}")
        self.pushed[branch] = self.branches[branch] = commit
        return f"url/{branch}"

    async def open_pull_request(self, *, branch, commit, title, body, draft, closes=()):
        self.closes = closes
        self.pulls[branch] = PullRequest(
            number=2,
            url="u",
            branch=branch,
            head=commit,
            base="main",
            title=title,
            body=body,
            draft=draft,
        )
        return self.pulls[branch]

    async def comment(self, key, body):
        self.comments[key] = body
        return f"url/{key}"


class SilentReporter:
    """The port Reporter: keeps what was told."""

    def __init__(self):
        self.told = []

    def stage_started(self, stage, title):
        self.told.append(("started", stage, title))

    def stage_finished(self, stage, summary):
        self.told.append(("finished", stage, summary))

    def tool_called(self, stage, tool, subject):
        self.told.append(("tool", stage, tool, subject))

    def report_spending(self, usage, cost_usd, answers):
        pass

    def report_parked(self, stage, approvals):
        self.told.append(("parked", stage, tuple(approvals)))

    def report_pause(self, stage, why):
        self.told.append(("paused", stage, why))
