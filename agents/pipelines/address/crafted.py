"""The submission of a change: its commits, and an answer to each point."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.requests import Frozen

Answered = Literal["fixed", "answered", "disagree", "needs_human"]


class PointReply(BaseModel):
    """The answer to one point."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    about: str
    """The key of the point, like `t3`."""
    verdict: Answered
    """What became of it."""
    commit: int = Field(ge=0)
    """For `fixed`: which of `commits` did it, from 1; else 0."""
    reply: str = Field(min_length=10)
    """The answer to the reviewer, posted where they said it."""


class Crafted(Frozen):
    """The words of the update, and the commits that were made of it."""

    commits: tuple[str, ...] = ()
    """Ids, in the order of the update's commits."""
    replies: tuple[PointReply, ...] = ()
    summary: str = ""

    def commit_of(self, reply: PointReply) -> int:
        """Return which of the commits a reply names, from 0; -1 for none."""
        return reply.commit - 1 if reply.verdict == "fixed" else -1
