"""The port for approvals: one tool call, one question, one person's decision."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Literal, Protocol

from agents.ports.json_types import Json
from agents.requests import Frozen


class ApprovalRequest(Frozen):
    """One tool call that may not run before a person has said yes."""

    call_id: str
    """Tells the call from all others of the session: the same call, asked again after a crash, is
    the same asking."""
    session: str
    stage: str
    """The stage occurrence, like `implement/2`."""
    tool: str
    arguments: Json
    """The whole call, as the model made it: what is shown is what would run."""
    rule: str
    """Id of the rule of the gate that wants it approved."""
    reason: str
    """Why, in words for people."""
    head: str
    """The commit that the work stands on."""
    branch: str = ""
    """The branch of the pull request that the run goes on with; empty where there is none."""
    branch_head: str = ""
    """Where that branch stood on GitHub when the run began: once it moves, a yes is void."""
    days: float = 7
    """How long people have to answer."""

    @property
    def binding(self) -> str:
        """Return the hash that a decision is bound to: tool, arguments and head."""
        exact = json.dumps([self.tool, self.arguments, self.head], sort_keys=True)
        return hashlib.sha256(exact.encode()).hexdigest()


ApprovalState = Literal["waiting", "approved", "denied", "expired", "void"]


class Approval(Frozen):
    """Where one asking stands."""

    id: str
    """Short, for people to type."""
    state: ApprovalState
    binding: str
    """What was decided on; a call with another binding is another call."""
    decided_by: str = ""
    """Login of whoever decided; empty while nobody has."""
    reason: str = ""
    """What they said, or why it is void: untrusted, for the model and for people."""


class Approvals(Protocol):
    """Asks people, and remembers what they decided, for one run."""

    async def ask(self, asking: ApprovalRequest) -> Approval:
        """Return where this asking stands; a new one is stored, then shown to people.

        Asking again changes nothing and shows nothing twice.
        """
        ...

    async def all_decided(self, ids: Sequence[str]) -> bool:
        """Return whether none of these waits any more; one whose time is up does not."""
        ...

    async def claim(self, ids: Sequence[str]) -> Sequence[str]:
        """Note, for good, that the calls of these are about to run; return which were free.

        One that was claimed before may have run: its process died before the result was kept.
        """
        ...
