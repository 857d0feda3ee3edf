"""`/bot approve` and `/bot deny`: check who answers and whether the question still holds."""

from __future__ import annotations

from dataclasses import dataclass

from agents.requests import Command
from app.commands.context import CommandContext, asked_about
from app.commands.replies import PUZZLED, CommandReplies, if_possible
from app.github.approvals.comment import ApprovalComment
from app.policies.gate import PolicyOf
from app.records.approvals import StoredApproval
from app.store.runs import ApprovalDecision, StoredApprovals
from handlers.access import approvals as answering
from handlers.access import policy as access_policy
from handlers.access.approvals import ApprovalFacts
from handlers.access.issues import Refusal

VERDICTS: dict[str, ApprovalDecision] = {"approve": "approved", "deny": "denied"}
FACES = {"approve": "+1", "deny": "-1"}
OUTDATED = frozenset({"head-unmoved", "still-open"})
"""Refusals after which the question's comment may be out of date."""
MOVED = "the branch has new commits since this was asked"


@dataclass(frozen=True)
class ApprovalCommands:
    """Carries out `/bot approve` and `/bot deny`, and clicks on the buttons."""

    approvals: StoredApprovals
    replies: CommandReplies
    policy: PolicyOf

    async def obey(self, context: CommandContext) -> dict[str, str]:
        """Decide, or explain why not; return the result for the record."""
        command = context.command
        stored = await self.approvals.get(command.approval)
        facts = await context.about_approval(stored, await self.approvals.list_waiting())
        refusal = answering.decide(command, facts) or await self._by_policy(command, facts)
        if refusal is None and stored is not None:
            stored, refusal = await self._decide(command, facts, stored)
        elif refusal is not None and refusal.rule == "head-unmoved" and stored is not None:
            await self.approvals.void(stored.id, MOVED)
            stored = await self.approvals.get(stored.id)
        await self._tell(context, stored, refusal)
        if refusal is not None:
            return {"refused": refusal.rule}
        return {"decided": VERDICTS[command.verb], "approval": command.approval}

    async def _by_policy(self, command: Command, facts: ApprovalFacts) -> Refusal | None:
        if command.verb != "approve":
            return None
        found = await self.policy(command)
        return access_policy.decide_command(command, found, facts.role_name, facts.permission)

    async def _decide(
        self, command: Command, facts: ApprovalFacts, stored: StoredApproval
    ) -> tuple[StoredApproval, Refusal | None]:
        """Decide, unless somebody was quicker: the first answer counts."""
        via = command.via
        assert via in ("comment", "button", "board")
        answered = await self.approvals.decide(
            stored.id,
            verdict=VERDICTS[command.verb],
            by=command.asked_by.login,
            by_id=command.asked_by.id,
            via=via,
            reason=command.words,
        )
        if answered is None:  # its run was forgotten in this very moment
            return stored, answering.decide(command, facts.model_copy(update={"asked": None}))
        if answered.counted:
            return answered.approval, None
        now = facts.model_copy(update={"asked": asked_about(answered.approval)})
        return answered.approval, answering.decide(command, now)

    async def _tell(
        self, context: CommandContext, stored: StoredApproval | None, refusal: Refusal | None
    ) -> None:
        """React to the comment, say why if it was refused, and keep the question current."""
        command = context.command
        face = PUZZLED if refusal else FACES[command.verb]
        await self.replies.react(context.client, command, face)
        if refusal is not None:
            await self._refuse(command, stored, refusal)
        if refusal is not None and await self.replies.obeyed_before(command):
            return  # a lost server has shown what came of it
        if stored is not None and (refusal is None or refusal.rule in OUTDATED):
            await if_possible(self._show(command, stored))

    async def _refuse(
        self, command: Command, stored: StoredApproval | None, refusal: Refusal
    ) -> None:
        """Say once why nothing was decided, where it was said or else where it was asked."""
        place = command
        if not command.number:  # a button under a commit that stands in no pull request
            if stored is None or stored.repository_id != command.repository.id:
                return
            place = command.model_copy(update={"number": stored.number})
        await self.replies.refuse(place, refusal)

    async def _show(self, command: Command, stored: StoredApproval) -> None:
        replies, about = self.replies, command.model_copy(update={"number": stored.number})
        shown = ApprovalComment(
            replies.github, about, self.approvals, replies.redactor, settle=replies.settle
        )
        await shown.show(stored)
