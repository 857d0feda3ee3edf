"""One approval as it is kept: the call, its state, who decided; and who keeps it for GitHub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from agents.ports import Approval, ApprovalRequest, ApprovalState


@dataclass(frozen=True)
class StoredApproval:
    """One approval, with its run's repository and number."""

    id: str
    run_id: str
    repository: str
    """`owner/name`."""
    repository_id: int
    number: int
    """The run's issue; 0 where there is none."""
    asking: ApprovalRequest | None
    """What was asked; None when nobody can read it any more, or it is not what was asked."""
    tool: str
    binding: str
    branch: str | None
    """On GitHub, when the run works on one: it must not have moved."""
    state: ApprovalState
    asked_at: float
    expires_at: float
    comment_id: int | None
    decided_at: float | None
    decided_by: str
    decided_by_id: int | None
    """The account on GitHub, whose login may be another's by now; None at the terminal."""
    decided_via: str
    reason: str
    """What whoever decided said, or why it is void: untrusted."""
    used_at: float | None

    @property
    def approval(self) -> Approval:
        """Return the approval as a stage sees it."""
        return Approval(
            id=self.id,
            state=self.state,
            binding=self.binding,
            decided_by=self.decided_by,
            reason=self.reason,
        )

    @property
    def standing(self) -> str:
        """Return its state for people: `was approved by mara on 2026-02-01 at 09:30 UTC`."""
        if self.state == "waiting":
            return f"waits for an answer until {format_moment(self.expires_at)}"
        words = "became void" if self.state == "void" else _WORDS[self.state]
        by = f" by {self.decided_by}" if self.decided_by else ""
        return f"{words}{by} on {format_moment(self.decided_at or self.expires_at)}"


_WORDS = {"approved": "was approved", "denied": "was denied", "expired": "expired"}


def format_moment(at: float) -> str:
    """Return unix seconds in a form that people all over the world read alike."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d at %H:%M} UTC"


class ApprovalStore(Protocol):
    """Keeps approvals; the first decision on each one counts."""

    async def ask_once(self, run_id: str, asking: ApprovalRequest) -> StoredApproval:
        """Keep this question, and return it as it stands; a repeated one is the same.

        Raises RunError when the kept record no longer says what was asked.
        """

    async def get(self, ident: str) -> StoredApproval | None:
        """Return the approval of that id, if there is one."""

    async def of_run(self, run_id: str) -> list[StoredApproval]:
        """Return the approvals that a run asked for, oldest first."""

    async def record_comment(self, ident: str, comment_id: int) -> None:
        """Remember the comment that asks."""

    async def claim(self, ids: Sequence[str]) -> list[str]:
        """Note that the calls of these are about to run; return those that nobody had claimed."""

    async def all_decided(self, ids: Sequence[str]) -> bool:
        """Return whether none of these waits any more."""

    async def void(self, ident: str, why: str) -> bool:
        """Let no decision count any more; return whether the approval still waited for one."""
