"""Withdraw the open questions of a run that has ended, and show that on GitHub."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from agents.errors import FettleError
from agents.requests import Request
from app.github.approvals.comment import ApprovalComment
from app.github.transport import SETTLE, GitHub
from app.records.approvals import ApprovalStore
from app.secrets.redaction import Redactor

ENDED = "the run has ended"

log = structlog.get_logger()


@dataclass(frozen=True)
class OpenQuestions:
    """The unanswered approvals of one run."""

    github: GitHub
    request: Request
    run_id: str
    approvals: ApprovalStore
    redactor: Redactor
    settle: float = SETTLE

    async def withdraw(self) -> None:
        """Make waiting approvals void, and show that where they were asked.

        GitHub may be out of reach. A repeated call shows what a process voided before it crashed.
        """
        for asked in await self.approvals.of_run(self.run_id):
            if asked.state == "waiting":
                await self.approvals.void(asked.id, ENDED)
            if asked.state in {"waiting", "void"} and asked.comment_id is not None:
                await self._show(asked.id)

    async def _show(self, ident: str) -> None:
        now = await self.approvals.get(ident)
        if now is None:
            return
        there = self.request.model_copy(update={"number": now.number})
        comment = ApprovalComment(
            self.github, there, self.approvals, self.redactor, settle=self.settle
        )
        try:
            await comment.show(now)
        except FettleError as error:
            log.warning("a question stays as it was", approval=ident, reason=str(error))
