"""The port `Approvals`: store the question, then ask people in one comment on GitHub."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from agents.errors import FettleError
from agents.ports import Approval, ApprovalRequest
from agents.requests import Request
from app.github.approvals.comment import ApprovalComment
from app.github.transport import ConversationThread, GitHub
from app.records.approvals import ApprovalStore, StoredApproval
from app.secrets.redaction import Redactor

log = structlog.get_logger()


class GitHubApprovals:
    """The port `Approvals` for one run; on pull requests people get buttons as well."""

    def __init__(
        self,
        github: GitHub,
        request: Request,
        run_id: str,
        approvals: ApprovalStore,
        redactor: Redactor,
        *,
        place: ConversationThread | None = None,
    ) -> None:
        self._run_id = run_id
        self._place = place or ConversationThread(request)
        self._approvals = approvals
        self._comment = ApprovalComment(github, request, approvals, redactor)
        self._shown: dict[str, str] = {}

    async def ask(self, asking: ApprovalRequest) -> Approval:
        """Return the approval of this question; a new question is stored, then shown to people.

        A repeated call updates the comment, since people may decide elsewhere. A decision holds
        even while GitHub is out of reach. Raises ToolError when people could not see the whole
        call, RunError when nobody can be asked.
        """
        await self._comment.action(asking.arguments)
        asking = await self._place.redact_question(asking)
        stored = await self._approvals.ask_once(self._run_id, asking)
        if self._shown.get(stored.id) != stored.state:
            await self._show(stored, asking.branch_head)
            self._shown[stored.id] = stored.state
        return stored.approval

    async def _show(self, stored: StoredApproval, branch_head: str) -> None:
        try:
            comment = self._comment.for_request(await self._place.open())
            await comment.show(stored, branch_head=branch_head)
        except FettleError as error:
            if stored.state == "waiting":  # nobody could answer what nobody was shown
                raise
            log.warning("a decision is not shown", approval=stored.id, reason=str(error))

    async def all_decided(self, ids: Sequence[str]) -> bool:
        """Return whether all of these are decided, void, or past their deadline."""
        return await self._approvals.all_decided(ids)

    async def claim(self, ids: Sequence[str]) -> list[str]:
        """Note that these calls are about to run; return the ids that nobody had claimed."""
        return await self._approvals.claim(ids)
