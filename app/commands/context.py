"""Facts about a `/bot` command from GitHub and the store; `handlers/access/approvals.py` judges."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.requests import Command, Request
from app.github.access.roles import role_of
from app.github.approvals.check_run import CHECK_RUN, find_check, is_own
from app.github.transport import COMMENT, BotIdentity, InstallationClient, NotFound
from app.records.approvals import StoredApproval
from app.store.runs import LaneRun, Lanes
from handlers.access.approvals import AnsweredApproval, ApprovalFacts
from handlers.access.issues import may_write
from handlers.access.policy import WITHOUT_ASKER
from handlers.check_run import VERDICT_CHECK
from handlers.command_parser import ANSWERS, parse_commands_in_child
from handlers.issue_comment import digest

CommentData = Mapping[str, Any]
OPERATOR = ApprovalFacts(role_name="admin", permission="admin")
"""Whoever has the server's terminal has the App's key as well: nobody is left to ask about."""
Submit = Callable[[str, Request], Awaitable[None]]
"""Takes a request durably; the same run id a second time changes nothing."""


@dataclass(frozen=True)
class CommandContext:
    """Looks up the facts about one command."""

    client: InstallationClient
    own: BotIdentity
    command: Command
    ident: str
    """Of the command: it is greater than the id of each run that was asked for before."""
    comment: CommentData | None = None
    """The comment that says it as it is now; None where it is not said in one."""

    async def read(self) -> CommandContext | None:
        """Return the same with the comment; None when somebody has deleted the comment."""
        if self.command.comment_id is None:
            return self
        try:
            comment: CommentData = await self.client.getitem(
                COMMENT, self._url_variables(self.command.comment_id), named=True
            )
        except NotFound:
            return None
        return replace(self, comment=comment)

    async def list_live(self, lanes: Lanes, *, before: str = "") -> list[LaneRun]:
        """Return the runs under way, newest first, without those that are about to be refused.

        Whoever may label or review a public repository puts runs into its lanes, which end as soon
        as GitHub is asked about them. Until then they hear nothing that people say to another one,
        and stand in nobody's way. `before`: only those asked for before what has this id.
        """
        live = await lanes.live(self.command, before=before)
        known: dict[int, bool] = {}
        return [run for run in live if run.begun or await self._may_begin(lanes, run, known)]

    async def _may_begin(self, lanes: Lanes, run: LaneRun, known: dict[int, bool]) -> bool:
        """Tell whether whoever asked for the run may write; `known`: of whom that was asked."""
        asker = await lanes.find_asker(run.id)
        if asker is None or asker[0] in WITHOUT_ASKER:
            return True
        person = asker[1]
        if person.id not in known:
            role = await role_of(self.client, self.command.repository, person)
            known[person.id] = role.may_write
        return known[person.id]

    async def about_asker(self) -> ApprovalFacts:
        """Return who gave the command, and whether the comment is theirs unedited."""
        command = self.command
        if command.via == "terminal":
            return OPERATOR
        role = await role_of(self.client, command.repository, command.asked_by)
        return ApprovalFacts(
            role_name=role.role_name,
            permission=role.permission,
            asker_is_bot=role.is_bot,
            **(await _describe_comment(command, self.comment) if self.comment else {}),
        )

    async def about_approval(
        self, stored: StoredApproval | None, waiting: Sequence[StoredApproval]
    ) -> ApprovalFacts:
        """Return the facts that hold now; about people who may not write, no more is looked up."""
        command, facts = self.command, await self.about_asker()
        if facts.asker_is_bot or not may_write(facts.role_name, facts.permission):
            return facts
        here = (command.repository.id, command.number)
        asked = None
        if stored is not None and stored.repository_id == command.repository.id:
            asked = asked_about(stored, moved=await self._has_branch_moved(stored))
        return facts.model_copy(
            update={
                "asked": asked,
                "own_button": await self.own_button(),
                "waiting": tuple(
                    each.id for each in waiting if (each.repository_id, each.number) == here
                ),
            }
        )

    async def own_button(self) -> bool:
        """Tell whether it came from a comment, or from a button of a check run of Fettle's own."""
        if self.command.check_run_id is None:
            return self.command.via != "button"
        try:
            check_run = await self.client.getitem(
                CHECK_RUN, self._url_variables(self.command.check_run_id), named=True
            )
        except NotFound:
            return False
        return is_own(check_run, self.own, self._check_run_name())

    def _check_run_name(self) -> str:
        """Return the external id of the check run that has the button."""
        command = self.command
        return command.approval or VERDICT_CHECK.format(number=command.number)

    async def _has_branch_moved(self, stored: StoredApproval) -> bool:
        """Tell whether the branch has moved: then the question's check run is not on its head."""
        if stored.branch is None or stored.state != "waiting":
            return False
        repository = self.command.repository
        found = await find_check(self.client, self.own, repository, stored.id, stored.branch)
        return found is None

    def _url_variables(self, ident: int) -> dict[str, str]:
        repository = self.command.repository
        return {"owner": repository.owner, "repo": repository.name, "id": str(ident)}


def asked_about(stored: StoredApproval, *, moved: bool = False) -> AnsweredApproval:
    """Return the approval as the rules see it."""
    return AnsweredApproval(
        repository_id=stored.repository_id,
        number=stored.number,
        state=stored.state,
        standing=stored.standing,
        decided_by=stored.decided_by,
        decided_via=stored.decided_via,
        readable=stored.asking is not None,
        moved=moved,
    )


async def _describe_comment(command: Command, comment: CommentData) -> dict[str, Any]:
    """Return what the comment itself tells."""
    author, body = comment["user"] or {}, comment["body"] or ""
    unchanged = (
        digest(body) == command.digest
        and comment["created_at"] == comment["updated_at"]
        and author.get("id") == command.asked_by.id
    )
    answers = (said for said in await parse_commands_in_child(body) if said.verb in ANSWERS)
    verbs = {said.verb for said in answers if said.approval == command.approval}
    through = comment.get("performed_via_github_app") or {}
    return {
        "edited": not unchanged,
        "contradicted": command.verb in ANSWERS and len(verbs) > 1,
        "through_app": through.get("slug") or through.get("name") or "",
    }
