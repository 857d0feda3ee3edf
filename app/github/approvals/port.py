"""The interface to the stored approvals that asking people on GitHub needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agents.ports import Asking
from app.records.approvals import StoredApproval


class ApprovalStore(Protocol):
    """Keeps approvals; the first decision on each one counts."""

    async def ask_once(self, run_id: str, asking: Asking) -> StoredApproval:
        """Keep this question, and return it as it stands; a repeated one is the same.

        Raises RunError when the kept record no longer says what was asked.
        """

    async def get(self, ident: str) -> StoredApproval | None:
        """Return the approval of that id, if there is one."""

    async def of_run(self, run_id: str) -> list[StoredApproval]:
        """Return the approvals that a run asked for, oldest first."""

    async def comment_is(self, ident: str, comment_id: int) -> None:
        """Remember the comment that asks."""

    async def claim(self, ids: Sequence[str]) -> list[str]:
        """Note that the calls of these are about to run; return those that nobody had claimed."""

    async def all_decided(self, ids: Sequence[str]) -> bool:
        """Return whether none of these waits any more."""

    async def void(self, ident: str, why: str) -> bool:
        """Let no decision count any more; return whether the approval still waited for one."""
