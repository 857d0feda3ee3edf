"""Step 4: what GitHub and the store say now about a command; `handlers/answering.py` judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.requests import Command
from app.github.approval_check import CHECK_RUN, find_check, is_own
from app.github.faults import Missing
from app.github.identity import Identity
from app.github.installation import InstallationClient
from app.github.marked import COMMENT
from app.github.roles import role_of
from app.store.approval_rows import StoredApproval
from handlers.answering import Asked, Facts
from handlers.commands import commands
from handlers.issue_comment import digest

Comment = Mapping[str, Any]


@dataclass(frozen=True)
class Inquiry:
    """Finds out about one command."""

    client: InstallationClient
    own: Identity
    command: Command

    async def comment(self) -> Comment | None:
        """Return the comment that says it as it is now; None when there is none, or no longer."""
        if self.command.comment_id is None:
            return None
        try:
            comment: Comment = await self.client.getitem(
                COMMENT, self._where(self.command.comment_id), named=True
            )
        except Missing:
            return None
        return comment

    async def facts(
        self,
        comment: Comment | None,
        stored: StoredApproval | None,
        waiting: Sequence[StoredApproval],
    ) -> Facts:
        """Return what holds now. About people who may not write, nothing more is looked up."""
        command = self.command
        role = await role_of(self.client, command.repository, command.asked_by)
        facts = Facts(
            role_name=role.role_name,
            permission=role.permission,
            asker_is_bot=role.is_bot,
            **(_said(command, comment) if comment else {}),
        )
        if not role.may_write:
            return facts
        here = (command.repository.id, command.number)
        asked = None
        if stored is not None and stored.repository_id == command.repository.id:
            asked = asked_about(stored, moved=await self._moved(stored))
        return facts.model_copy(
            update={
                "asked": asked,
                "own_button": await self._own_button(),
                "waiting": tuple(
                    each.id for each in waiting if (each.repository_id, each.number) == here
                ),
            }
        )

    async def _own_button(self) -> bool:
        if self.command.check_run_id is None:
            return self.command.via != "button"
        try:
            check_run = await self.client.getitem(
                CHECK_RUN, self._where(self.command.check_run_id), named=True
            )
        except Missing:
            return False
        return is_own(check_run, self.own, self.command.approval)

    async def _moved(self, stored: StoredApproval) -> bool:
        """Tell whether the branch has moved: then the question's check run is not on its head."""
        if stored.branch is None or stored.state != "waiting":
            return False
        repository = self.command.repository
        found = await find_check(self.client, self.own, repository, stored.id, stored.branch)
        return found is None

    def _where(self, ident: int) -> dict[str, str]:
        repository = self.command.repository
        return {"owner": repository.owner, "repo": repository.name, "id": str(ident)}


def asked_about(stored: StoredApproval, *, moved: bool = False) -> Asked:
    """Return the approval as the rules see it."""
    return Asked(
        repository_id=stored.repository_id,
        number=stored.number,
        state=stored.state,
        standing=stored.standing,
        decided_by=stored.decided_by,
        decided_via=stored.decided_via,
        readable=stored.asking is not None,
        moved=moved,
    )


def _said(command: Command, comment: Comment) -> dict[str, Any]:
    """Return what the comment itself tells."""
    author, body = comment["user"] or {}, comment["body"] or ""
    unchanged = (
        digest(body) == command.digest
        and comment["created_at"] == comment["updated_at"]
        and author.get("id") == command.asked_by.id
    )
    verbs = {said.verb for said in commands(body) if said.approval == command.approval}
    through = comment.get("performed_via_github_app") or {}
    return {
        "edited": not unchanged,
        "contradicted": len(verbs) > 1,
        "through_app": through.get("slug") or through.get("name") or "",
    }
