"""A question on the issue, and how an answer to it is told from older comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from agents.ports import Steer
from agents.requests import Frozen
from agents.run import Outcome

DAY = 86_400.0

_COMMENT = re.compile(r"#issuecomment-(\d+)$")
_ASKED = {"ask": "Asked some questions.", "propose": "Proposed ways to do it."}


class Question(Frozen):
    """What was asked, and what a run has to know to wait for the answer."""

    url: str
    """The comment that asks."""
    waits: bool
    """Whether anybody can answer this run."""
    number: int
    """Which question of the run it is, from 1."""
    asked_after: int
    """The number of the newest steer at that moment: later ones are answers."""
    comments_after: int
    """The id of a comment: what the author said beyond it, the session may not know."""
    days: float
    """How long an answer is waited for."""
    asked_at: float
    """Unix seconds."""
    kind: Literal["ask", "propose"]
    divides: bool = False
    """Whether it showed people the parts that the issue would be divided into."""

    @property
    def until(self) -> float:
        """Return when the time for an answer is over, in unix seconds."""
        return self.asked_at + self.days * DAY

    @property
    def ended(self) -> Outcome:
        """Return how a run ends that cannot wait."""
        return Outcome(kind="comment", text=_ASKED[self.kind], url=self.url)


def newest_before(steers: Sequence[Steer], url: str) -> int:
    """Return the number of the newest steer that is older than the question at this URL.

    A stage that is done again finds its question posted long ago, and perhaps answered: the ids of
    the comments tell what came first.
    """
    asked = comment_id(url)
    answers = [steer.number for steer in steers if 0 < asked < comment_id(steer.url)]
    return min(answers) - 1 if answers else max((steer.number for steer in steers), default=0)


def comment_id(url: str) -> int:
    """Return the id of the comment at this URL, 0 for anything else."""
    found = _COMMENT.search(url)
    return int(found[1]) if found else 0
