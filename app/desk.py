"""Step 4: obey a command: who says so, do they mean it, does it still hold; then decide, and say.

Everything is read anew from GitHub. Every call may be repeated: a crash between the decision and
what people see of it is mended by obeying once more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable
from typing import Any

import structlog

from agents.errors import RunError, ToolError
from agents.ports import Json
from agents.requests import Command
from app.desk_facts import Inquiry, asked_about
from app.github.approval_comment import ApprovalComment
from app.github.auth import Profile
from app.github.client import GitHub
from app.github.installation import InstallationClient
from app.github.marked import SETTLE, MarkedComments
from app.github.wording import Wording
from app.redaction import Redactor
from app.store.approvals import Decision, StoredApproval, StoredApprovals
from handlers import answering
from handlers.access import Refusal
from handlers.answering import Facts

REACTIONS = "/repos/{owner}/{repo}/issues/comments/{id}/reactions"
VERDICTS: dict[str, Decision] = {"approve": "approved", "deny": "denied"}
FACES = {"approve": "+1", "deny": "-1"}
PUZZLED = "confused"
ONCE_EACH = frozenset({"by-person", "by-hand", "may-answer"})
"""Rules about who answers: each person is told once on an issue, however often they try."""
OUTDATED = frozenset({"head-unmoved", "still-open"})
"""Rules after which the question may not say yet where it stands."""
MOVED = "the branch has new commits since this was asked"
TEXT = "@{login}, about [your answer]({url}): {text}\n\nRule: `{rule}`."

log = structlog.get_logger()


class Desk:
    """Where people's commands are carried out."""

    def __init__(
        self,
        github: GitHub,
        approvals: StoredApprovals,
        redactor: Redactor,
        *,
        settle: float = SETTLE,
    ) -> None:
        self._github = github
        self._approvals = approvals
        self._redactor = redactor
        self._settle = settle

    async def obey(self, command: Command) -> Json:
        """Carry the command out, or refuse it politely; return what became of it.

        Raises TransientError: then it is to be obeyed again.
        """
        try:
            became = await self._obey(command)
        except RunError as error:  # where GitHub does not let us speak, only the log can tell
            became = {"failed": str(error)}
        log.info("command", verb=command.verb, via=command.via, **became)
        return became

    async def _obey(self, command: Command) -> dict[str, str]:
        client = await self._github.installation(
            command.installation_id, command.repository.id, Profile.REPORT
        )
        inquiry = Inquiry(client, await self._github.identity(client), command)
        comment = await inquiry.comment()
        if command.via == "comment" and comment is None:
            return {"withdrawn": "the comment was removed"}
        stored = await self._approvals.get(command.approval)
        facts = await inquiry.facts(comment, stored, await self._approvals.waiting())
        refusal = answering.decide(command, facts)
        if refusal is None and stored is not None:
            stored, refusal = await self._decide(command, facts, stored)
        elif refusal is not None and refusal.rule == "head-unmoved" and stored is not None:
            await self._approvals.void(stored.id, MOVED)
            stored = await self._approvals.get(stored.id)
        return await self._tell(client, command, stored, refusal)

    async def _decide(
        self, command: Command, facts: Facts, stored: StoredApproval
    ) -> tuple[StoredApproval, Refusal | None]:
        """Decide, unless somebody was quicker: the first answer counts."""
        answered = await self._approvals.decide(
            stored.id,
            verdict=VERDICTS[command.verb],
            by=command.asked_by.login,
            by_id=command.asked_by.id,
            via=command.via,
            reason=command.reason,
        )
        if answered is None:  # its run was forgotten in this very moment
            return stored, answering.decide(command, facts.model_copy(update={"asked": None}))
        if answered.counted:
            return answered.approval, None
        now = facts.model_copy(update={"asked": asked_about(answered.approval)})
        return answered.approval, answering.decide(command, now)

    # --- what people see ------------------------------------------------------------------------

    async def _tell(
        self,
        client: InstallationClient,
        command: Command,
        stored: StoredApproval | None,
        refusal: Refusal | None,
    ) -> dict[str, str]:
        """React to the comment, say why if it was refused, and keep the question current."""
        await _if_possible(self._react(client, command, PUZZLED if refusal else None))
        if refusal is not None:
            await _if_possible(self._refuse(command, stored, refusal))
        if stored is not None and (refusal is None or refusal.rule in OUTDATED):
            await _if_possible(self._show(command, stored))
        if refusal is not None:
            return {"refused": refusal.rule}
        return {"decided": VERDICTS[command.verb], "approval": command.approval}

    async def _react(self, client: InstallationClient, command: Command, face: str | None) -> None:
        if command.comment_id is None:
            return
        where = _where(command) | {"id": str(command.comment_id)}
        # Reacting twice leaves one reaction.
        await client.post(REACTIONS, where, data={"content": face or FACES[command.verb]})

    async def _refuse(
        self, command: Command, stored: StoredApproval | None, refusal: Refusal
    ) -> None:
        """Say once why nothing was decided, where it was said or else where it was asked."""
        place = command
        if not command.number:  # a button under a commit that stands in no pull request
            if stored is None or stored.repository_id != command.repository.id:
                return
            place = command.model_copy(update={"number": stored.number})
        text = TEXT.format(
            login=command.asked_by.login, url=command.url, text=refusal.text, rule=refusal.rule
        )
        comments = MarkedComments(self._github, place, "commands", settle=self._settle)
        wording = Wording(self._github.urls, place, self._redactor)
        await comments.say(_key(command, refusal), wording.text(text))

    async def _show(self, command: Command, stored: StoredApproval) -> None:
        about = command.model_copy(update={"number": stored.number})
        shown = ApprovalComment(
            self._github, about, self._approvals, self._redactor, settle=self._settle
        )
        await shown.show(stored)


async def _if_possible(telling: Awaitable[None]) -> None:
    """Tell people; what is decided stands even where GitHub will not have it told."""
    try:
        await telling
    except (RunError, ToolError) as error:
        log.warning("not told", reason=str(error))


def _key(command: Command, refusal: Refusal) -> str:
    """Return the key of the refusal's comment: what is refused for one reason is refused once."""
    if refusal.rule in ONCE_EACH:
        return f"refused-{command.asked_by.id}"
    said = (command.comment_id, command.check_run_id, command.approval, refusal.rule)
    return f"refused-{hashlib.sha256(repr(said).encode()).hexdigest()[:16]}"


def _where(command: Command) -> dict[str, Any]:
    return {"owner": command.repository.owner, "repo": command.repository.name}
