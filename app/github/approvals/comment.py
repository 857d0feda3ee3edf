"""Show an approval on GitHub: one comment, and a check run where there is a pull request."""

from __future__ import annotations

from asyncio import to_thread

import structlog

from agents.requests import Command, Request
from app.github.approvals.action_text import ToolCallText, shown_action
from app.github.approvals.check_run import show_check
from app.github.approvals.text import format_question
from app.github.transport import SETTLE, GitHub, MarkedComments, OutgoingText, Profile
from app.records.approvals import ApprovalStore, StoredApproval
from app.secrets.redaction import Redactor

log = structlog.get_logger()


def comment_key(ident: str) -> str:
    """Return the key of the comment that asks for this approval."""
    return f"approval-{ident}"


class ApprovalComment:
    """Updates what GitHub shows of an approval. Every call may be repeated."""

    def __init__(
        self,
        github: GitHub,
        request: Request | Command,
        approvals: ApprovalStore,
        redactor: Redactor,
        *,
        settle: float = SETTLE,
    ) -> None:
        self._github = github
        self._request = request
        self._approvals = approvals
        self._redactor = redactor
        self._wording = OutgoingText(github.urls, request, redactor)
        self._settle = settle

    def for_request(self, request: Request | Command) -> ApprovalComment:
        """Return the same for the issue or pull request of this request."""
        return ApprovalComment(
            self._github, request, self._approvals, self._redactor, settle=self._settle
        )

    async def action(self, arguments: object) -> ToolCallText:
        """Return the call as people see it. Raises ToolError when they could not see all of it."""
        return await to_thread(shown_action, arguments, self._redactor, self._wording)

    async def show(self, stored: StoredApproval, *, branch_head: str = "") -> None:
        """Show on the issue whether the approval waits, or who decided what.

        `branch_head` is the branch's commit when the question was asked. Without it the buttons
        stay on an old commit once the branch has moved, and do nothing there.
        """
        if stored.asking is None:
            log.error("an approval cannot be shown: its record is damaged", approval=stored.id)
            return
        action = await self.action(stored.asking.arguments)
        asker = self._request.asked_by
        login = asker.login if asker.id else ""  # nobody asked, or nobody with an account there
        text = await to_thread(format_question, stored, action, self._wording, login=login)
        comments = MarkedComments(self._github, self._request, stored.run_id, settle=self._settle)
        posted = await comments.say(comment_key(stored.id), text)
        if posted.id != stored.comment_id:
            await self._approvals.record_comment(stored.id, posted.id)
        if posted.text != text:
            await comments.change(posted.id, comment_key(stored.id), text, yielding=False)
        if stored.branch is not None:
            await self._buttons(stored, action, posted.url, branch_head)

    async def _buttons(
        self, stored: StoredApproval, action: ToolCallText, url: str, branch_head: str
    ) -> None:
        request = self._request
        client = await self._github.installation(
            request.installation_id, request.repository.id, Profile.REPORT
        )
        own = await self._github.identity(client)
        text = await to_thread(format_question, stored, action, self._wording, login="")
        ref = branch_head or stored.branch or ""
        await show_check(client, own, request.repository, stored, ref=ref, text=text, url=url)
