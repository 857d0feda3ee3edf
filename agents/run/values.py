"""Step 5: the values of a run: what it is lent, what is kept of a stage, how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from agents.ports import (
    Approvals,
    Forge,
    Journal,
    Json,
    Model,
    Publisher,
    PullRequest,
    Reporter,
    Source,
    Steps,
    Toolsets,
    Web,
)
from agents.requests import Frozen


class Outcome(Frozen):
    """How a run ended, for people and for the record."""

    kind: Literal["pull_request", "comment", "refused", "failed"]
    text: str
    """One sentence for people; for a refusal or failure also why and what to do next."""
    rule: str | None = None
    """For a refusal: the id of the rule that decided."""
    url: str | None = None
    pull_request: PullRequest | None = None


class Record(BaseModel):
    """What the engine keeps of a stage: its output, and what it changed in the run."""

    output: Json = None
    summary: str = ""
    base: str = ""
    head: str = ""
    worked: float = 0.0
    sessions: dict[str, str] = {}
    error: str | None = None
    error_kind: str | None = None
    parked: tuple[str, ...] = ()
    """Approvals that the stage waits for; it is done again once they are decided."""
    tainted: bool = False
    toolsets: Json = None
    """What a stage learnt of other servers' tools: the same ones for the whole run."""


@dataclass(frozen=True)
class Ports:
    """Everything the machine lends to one run."""

    model: Model
    journal: Journal
    source: Source
    publisher: Publisher
    reporter: Reporter
    steps: Steps
    approvals: Approvals | None = None
    """None: nobody can be asked, so what needs a person's yes is refused."""
    web: Web | None = None
    forge: Forge | None = None
    toolsets: Toolsets | None = None
