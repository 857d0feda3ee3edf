"""The port for steering: what people ask of a run while it is under way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from agents.requests import Frozen

SteerKind = Literal["cancel", "go", "budget", "remark"]
SteerVia = Literal[
    "comment",
    "label",
    "relabel",
    "issue",
    "pull_request",
    "terminal",
    "page",
    "alert",
    "installation",
]


class Steer(Frozen):
    """One thing that somebody who may write to the repository wants of the run."""

    number: int
    """Grows in the order in which they came; unique within the run."""
    kind: SteerKind
    """End it; go on from a question; let it spend more; just words, which the model is told."""
    words: str = ""
    """What they said besides the command, cleaned of commands: still to be fenced for a prompt."""
    usd: float = 0.0
    """For `budget`: how many dollars more."""
    by: str
    """Login, or the operator's user name."""
    role: str = ""
    """Their role in the repository when they said it, like `maintain`; empty for the operator."""
    via: SteerVia
    """How: in a comment, by taking the label off, by putting it on again (another run does the
    work), by closing the issue or the pull request, on the machine, on the pages of operators;
    `alert`: nobody did, its alerts were closed; `installation`: the App may not work there any
    more, so nobody can be told on GitHub."""
    url: str = ""
    """The comment that says it."""
    at: float
    """Unix seconds."""


class Steering(Protocol):
    """What people said to one run. Nothing is ever taken away from it."""

    async def list_after(self, number: int = 0) -> Sequence[Steer]:
        """Return what came after the steer of this number, oldest first."""
        ...

    async def wait_for_cancel(self) -> Steer:
        """Wait until somebody cancels the run, and return who; at once if somebody has."""
        ...
