"""`/bot status` and `/bot why`: look up the run that people ask about, and answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents.requests import Command
from app.commands.budget import RunAllowance
from app.commands.context import CommandContext
from app.commands.replies import PUZZLED, CommandReplies
from app.commands.status import RunReasons, RunStatus, status_text, why_text
from app.github.alerts.issue_text import public_text
from app.store.database import Database
from app.store.runs import (
    History,
    KeptRun,
    LaneRun,
    Lanes,
    StoredJournal,
    StoredSteers,
    find_silent_since,
    look_at_queue,
)
from handlers.access import steering
from handlers.access.steering import LaneFacts

DONE = "+1"
ABOUT_ALERTS = "remediate_alert"
SAID_HERE = frozenset({"comment", "label", "relabel", "issue", "pull_request"})
"""Ways of steering that everybody has seen who sees the issue."""


@dataclass(frozen=True)
class RunInspector:
    """Answers questions about a run."""

    database: Database
    lanes: Lanes
    spending: RunAllowance
    replies: CommandReplies

    async def obey(self, context: CommandContext) -> dict[str, str]:
        """Answer, or explain why not; return the result for the record."""
        command = context.command
        facts = await context.about_asker()
        live = await context.list_live(self.lanes)
        # The one at work is the oldest: those that were asked for later wait for it.
        run = live[-1] if live else await self.lanes.find_ended(command)
        refusal = steering.decide(command, facts, LaneFacts(live=bool(live), ended=run is not None))
        if refusal is not None or run is None:
            assert refusal is not None
            await self.replies.react(context.client, command, PUZZLED)
            await self.replies.refuse(command, refusal)
            return {"refused": refusal.rule}
        await self.replies.react(context.client, command, DONE)
        kept = await History(self.database).run(run.id)
        assert kept is not None
        discreet = run.kind == ABOUT_ALERTS and not command.repository.private
        if discreet and kept.outcome is not None:
            known = kept.outcome.model_copy(update={"text": public_text(kept.outcome)})
            kept = replace(kept, outcome=known)
        if command.verb == "status":
            text = await self._status(command, kept, run, len(live) - 1)
        else:
            text = await self._explain(command, kept, discreet=discreet)
        await self.replies.say(command, f"{command.verb}-{command.comment_id}", text)
        return {"told": run.id}

    async def _status(self, command: Command, kept: KeptRun, run: LaneRun, behind: int) -> str:
        journal = StoredJournal(self.database, run.id)
        status = RunStatus(
            run=kept,
            allowance=await self.spending.compute(command, run.id),
            today=await journal.spent_today(),
            behind=max(0, behind),
            approvals=await History(self.database).approvals(run.id),
            comment_id=run.comment_id,
            silent_since=await find_silent_since(self.database, run.id),
            place=await self._find_place(kept),
        )
        return status_text(status, self._issue(command), self.replies.for_command(command))

    async def _find_place(self, run: KeptRun) -> tuple[int, float | None] | None:
        if run.state != "queued":
            return None
        return (await look_at_queue(self.database)).find(run.id)

    async def _explain(self, command: Command, kept: KeptRun, *, discreet: bool) -> str:
        """Return the reasons; `discreet`: without those that whoever sees no alerts must not see.

        What people decided they have said here, or it is none of the public's business.
        """
        history = History(self.database)
        steers = await StoredSteers(self.database).list_after(kept.id)
        approvals = await history.approvals(kept.id)
        if discreet:
            steers = [each for each in steers if each.via in SAID_HERE]
            approvals = [replace(each, reason="") for each in approvals]
        reasons = RunReasons(
            run=kept,
            turns=() if discreet else await history.turns(kept.id, content=True),
            approvals=approvals,
            steers=steers,
        )
        return why_text(reasons, self.replies.for_command(command))

    def _issue(self, command: Command) -> str:
        web = self.replies.github.urls.web
        return f"{web}/{command.repository.full_name}/issues/{command.number}"
