"""A fake of the port Tracker: an issue's surroundings as they are set."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.ports import Pictures, Remarks, SubIssue


@dataclass
class MemoryTracker:
    """The port Tracker: the issue's surroundings as they are set."""

    parts: tuple = ()
    made: list = field(default_factory=list)
    labels: set = field(default_factory=set)
    linked_issues: tuple = ()
    shown: Pictures = field(default_factory=Pictures)
    earlier: object = None
    said: Remarks = field(default_factory=Remarks)
    said_before: str = ""
    beside: tuple = ()
    on_issue: frozenset = frozenset()
    """Numbers of those beside it that refer to the issue."""
    asked: list = field(default_factory=list)
    """What was done to labels and read of remarks, in its order."""

    async def sub_issues(self):
        return self.parts

    async def create_sub_issues(self, key, wanted):
        self.made += wanted
        self.parts = tuple(
            SubIssue(
                number=40 + number,
                title=part.title,
                body=part.body,
                state="open",
                author="fettle[bot]",
                author_may_write=True,
            )
            for number, part in enumerate(wanted, 1)
        )
        return self.parts

    async def label(self, name, *, on, description=""):
        self.asked.append((name, on))
        (self.labels.add if on else self.labels.discard)(name)

    async def find_linked(self, text, *, limit):
        return self.linked_issues[:limit]

    async def pictures(self, text):
        return self.shown

    async def earlier_pull_request(self):
        return self.earlier

    async def neighbours(self, *, on_issue=False):
        return tuple(each for each in self.beside if not on_issue or each.number in self.on_issue)

    async def discussion(self):
        return self.said_before

    async def remarks(self, *, after=0):
        self.asked.append(("remarks", after))
        return self.said
