"""One approval as it is kept: the call that was asked about, its state, and who decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from agents.ports import Approval, ApprovalState, Asking


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
    asking: Asking | None
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
            return f"waits for an answer until {_moment(self.expires_at)}"
        words = "became void" if self.state == "void" else _WORDS[self.state]
        by = f" by {self.decided_by}" if self.decided_by else ""
        return f"{words}{by} on {_moment(self.decided_at or self.expires_at)}"


_WORDS = {"approved": "was approved", "denied": "was denied", "expired": "expired"}


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d at %H:%M} UTC"
