"""The port for the journal: every turn of every session of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agents.ports.json_types import Block
from agents.ports.model import Usage


@dataclass(frozen=True)
class Ruling:
    """What the gate said to one tool call, and the approval that it ran on or was refused by."""

    decision: Literal["allow", "deny", "ask"]
    rule: str
    """The rule's id; `default` where none objects."""
    approval: str = ""


@dataclass(frozen=True)
class Turn:
    """One entry of a session, in the order of the conversation.

    `prompt` is a user message by us, `answer` the model's, `results` the user message with the
    results of every tool call of the answer before it, `remark` a user message that passes on what
    people said meanwhile, one block for each steer. `head` is what is sent before the messages:
    model, system prompt, tools; it holds for all that is asked after it. `notice` is a word of
    ours on how the stage goes, `compact` asks the model to sum the conversation up, and from a
    `summary` on it is sent anew.
    """

    kind: Literal["prompt", "answer", "results", "remark", "head", "notice", "compact", "summary"]
    stage: str
    """The stage occurrence that added it, like `implement/2`."""
    content: list[Block]
    stop_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    seconds: float = 0.0
    tree: str | None = None
    """For `results`: the work tree (git tree id) after these calls; None when unchanged."""
    rulings: Mapping[str, Ruling] = field(default_factory=dict)
    """For `results`: by id of the call; submissions, and calls that name no tool, have none."""
    model: str = ""
    """For `answer`: who gave it."""


class Journal(Protocol):
    """The durable list of turns of each session of one run. Append-only."""

    async def turns(self, session: str) -> list[Turn]:
        """Return the turns of a session, oldest first; an unknown session has none."""
        ...

    async def append(self, session: str, number: int, turn: Turn) -> None:
        """Store the turn as entry `number` (0-based); return once it is on disk.

        Appending the same number twice is an error: two writers are at work on one session.
        """
        ...

    async def sum_usage(self) -> tuple[Usage, float, int]:
        """Return tokens, dollars and answers of the whole run so far."""
        ...

    async def spent_today(self) -> float:
        """Return the dollars of all runs on the run's repository since midnight UTC."""
        ...
