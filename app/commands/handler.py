"""Step 8: obey a `/bot` command: check who says so, do what it says, and answer with a comment.

All facts are read anew from GitHub. Every call may be repeated: after a crash between an action and
its answer, obeying once more mends both.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from agents.errors import RunError
from agents.policy import Found
from agents.ports import Json
from agents.requests import Command
from app.commands.approve import ApprovalCommands
from app.commands.budget import RunAllowance
from app.commands.context import CommandContext, Submit
from app.commands.inspect import RunInspector
from app.commands.replies import PUZZLED, CommandReplies
from app.commands.start_run import RunStarter
from app.commands.steer import NO_RUN, SteeringCommands
from app.commands.supersede import RunSuccession
from app.commands.undo import RunUndo
from app.github.policy.file import read_policy
from app.github.transport import SETTLE, GitHub, Profile
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.store.restore_recovery import Recoveries
from app.store.runs import History, Lanes, Runs, StoredApprovals, StoredSteers
from handlers.access import steering
from handlers.access.steering import LaneFacts

SILENT = frozenset({"by-person", "by-hand", "may-answer", "unedited"})
"""Rules after which a word that means nothing is passed over: it may be meant for others."""

log = structlog.get_logger()


@dataclass(frozen=True)
class SpendingBounds:
    """The operator's limits on what runs may spend, in dollars."""

    run: float
    day: float


class CommandHandler:
    """Carries out people's commands."""

    def __init__(
        self,
        github: GitHub,
        database: Database,
        redactor: Redactor,
        submit: Submit,
        *,
        bounds: SpendingBounds,
        settle: float = SETTLE,
    ) -> None:
        self._github = github
        steers, history = StoredSteers(database), History(database)
        self._lanes = lanes = Lanes(database)
        spending = RunAllowance(steers, self._policy, bounds.run, bounds.day)
        restored_at = Recoveries(database).restored_at
        self._replies = replies = CommandReplies(github, redactor, settle, restored_at)
        self._answers = ApprovalCommands(StoredApprovals(database), replies, self._policy)
        self._steers = SteeringCommands(steers, lanes, spending, replies, self._policy)
        self._asking = RunStarter(Runs(database), lanes, history, replies, submit)
        self._succession = RunSuccession(Runs(database), lanes, steers, self._policy)
        self._undo = RunUndo(database, lanes, replies, submit)
        self._look = RunInspector(database, lanes, spending, replies)

    async def obey(self, command: Command, ident: str) -> Json:
        """Carry out the command, or refuse it politely; return the result for the record.

        Raises TransientError to have the command obeyed again.
        """
        try:
            became = await self._obey(command, ident)
        except RunError as error:  # where GitHub does not let us speak, only the log can tell
            became = {"failed": str(error)}
        log.info("command", verb=command.verb, via=command.via, **became)
        return became

    async def _policy(self, command: Command) -> Found:
        return await read_policy(self._github, command.installation_id, command.repository)

    async def _obey(self, command: Command, ident: str) -> dict[str, str]:
        if command.for_live_runs and not await self._lanes.busy(command):
            return NO_RUN  # it ended since the delivery came: nothing to ask GitHub about
        client = await self._github.installation(
            command.installation_id, command.repository.id, Profile.REPORT
        )
        context = CommandContext(client, await self._github.identity(client), command, ident)
        if command.via in ("label", "issue", "pull_request"):
            return await self._steers.call_back(context)
        if command.via == "relabel":
            return await self._succession.obey(context)
        read = await context.read()
        if read is None:
            return {"withdrawn": "the comment was removed"}
        return await self._execute(read)

    async def _execute(self, context: CommandContext) -> dict[str, str]:
        match context.command.verb:
            case "approve" | "deny":
                return await self._answers.obey(context)
            case "status" | "why":
                return await self._look.obey(context)
            case "retry" | "address" | "update":
                return await self._asking.obey(context)
            case "undo":
                return await self._undo.obey(context)
            case "unknown":
                return await self._puzzle(context)
            case _:
                return await self._steers.obey(context)

    async def _puzzle(self, context: CommandContext) -> dict[str, str]:
        """Say what there is, to somebody who may have it done."""
        refusal = steering.decide(context.command, await context.about_asker(), LaneFacts())
        assert refusal is not None
        if refusal.rule not in SILENT:
            await self._replies.react(context.client, context.command, PUZZLED)
            await self._replies.refuse(context.command, refusal)
        return {"refused": refusal.rule}
