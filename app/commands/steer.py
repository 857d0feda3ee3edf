"""`/bot go`, `/bot cancel`, `/bot budget` and remarks: commands to the run under way."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from agents.ports import SteerKind
from agents.requests import Command
from app.commands.budget import RunAllowance
from app.commands.context import CommandContext
from app.commands.replies import PUZZLED, CommandReplies
from app.github.transport import NotFound
from app.policies.gate import PolicyOf
from app.store.runs import LaneRun, Lanes, StoredSteers
from handlers.access import policy as access_policy
from handlers.access import steering
from handlers.access.approvals import ApprovalFacts
from handlers.access.issues import Refusal
from handlers.access.steering import LaneFacts
from handlers.issues import RESOLVE_LABEL
from handlers.pull_request import ADDRESS_LABEL

ISSUE = "/repos/{owner}/{repo}/issues/{number}"
SEEN = "eyes"
DONE = "+1"
KINDS: dict[str, SteerKind] = {
    "go": "go",
    "cancel": "cancel",
    "budget": "budget",
    "remark": "remark",
}
CAPPED = (
    "@{login}, the run got ${usd:.2f} more, not ${asked:.2f}: with that it may spend ${most:.2f},"
    " and that is the most that the operator of Fettle lets one run spend."
)
BY_POLICY = frozenset({"go", "budget", "remark"})
"""Commands that need the policy to allow steering; whoever may write may always cancel."""
TOLD = frozenset({"asker-among", "policy-valid"})
"""Rules of the policy, of which people hear also when a remark of theirs does not count."""
NO_RUN = {"dropped": "no run is under way"}
UNDONE = "it was undone"


@dataclass(frozen=True)
class SteeringCommands:
    """Carries out commands to the run under way."""

    steers: StoredSteers
    lanes: Lanes
    spending: RunAllowance
    replies: CommandReplies
    policy: PolicyOf

    async def obey(self, context: CommandContext) -> dict[str, str]:
        """Steer the run, or explain why not; return the result for the record.

        Only runs that were asked for before the command are meant.
        """
        command = context.command
        if (told := await self.steers.find_told_run(_key(context))) is not None:  # before a crash
            await self._confirm(context, told)
            return {"steered": told}
        live = await context.list_live(self.lanes, before=context.ident)
        if command.verb == "remark" and not live:
            return NO_RUN
        facts = await context.about_asker()
        standing = await self._load_standing(context, live)
        refusal = steering.decide(command, facts, standing)
        refusal = refusal or await self._by_policy(command, facts)
        if refusal is None and not await self._store_steer(
            context, live, _role(facts), standing.room
        ):
            refusal = steering.decide(command, facts, LaneFacts(ended=True))
        if refusal is not None:
            await self._refuse(context, refusal, live)
            return {"refused": refusal.rule}
        await self._confirm(context, live[0].id)
        return {"steered": live[0].id}

    async def call_back(self, context: CommandContext) -> dict[str, str]:
        """Cancel runs whose label was removed, or whose issue or pull request was closed.

        Deliveries may come late and in any order, so the present state on GitHub decides.
        """
        command = context.command
        live = await context.list_live(self.lanes, before=context.ident)
        if not live:
            return NO_RUN
        if command.asked_by.id == context.own.bot.id:
            return {"dropped": "it was our own doing"}
        if reason := await _find_renewed_wish(context):
            return {"dropped": reason}
        return {"steered": live[0].id} if await self._store_steer(context, live, "", 0) else NO_RUN

    async def _by_policy(self, command: Command, facts: ApprovalFacts) -> Refusal | None:
        if command.verb not in BY_POLICY:
            return None
        found = await self.policy(command)
        return access_policy.decide_command(command, found, facts.role_name, facts.permission)

    async def _load_standing(self, context: CommandContext, live: list[LaneRun]) -> LaneFacts:
        command = context.command
        if not live:
            return LaneFacts(ended=await self.lanes.find_ended(command) is not None)
        if command.verb != "budget":
            return LaneFacts(live=True)
        allowance = await self.spending.compute(command, live[0].id)
        return LaneFacts(live=True, room=allowance.room, most=allowance.most)

    async def _store_steer(
        self, context: CommandContext, live: list[LaneRun], role: str, room: float
    ) -> bool:
        """Keep it for the newest run, a cancel for all; return whether any hears of it."""
        command, via = context.command, context.command.via
        assert via != "button"
        assert via != "board"
        meant = live if command.verb == "cancel" else live[:1]
        return await self.steers.insert(
            [run.id for run in meant],
            _key(context),
            kind=KINDS[command.verb],
            via=via,
            by=command.asked_by.login,
            by_id=command.asked_by.id,
            role=role,
            words=command.words,
            usd=min(command.usd or 0.0, room) if command.verb == "budget" else 0.0,
            url=command.url,
        )

    async def _confirm(self, context: CommandContext, run_id: str) -> None:
        command = context.command
        face = SEEN if command.verb == "remark" else DONE
        await self.replies.react(context.client, command, face)
        if command.usd is None:
            return
        before = await self.spending.compute(command, run_id, besides=_key(context))
        if command.usd > before.room:
            text = CAPPED.format(
                login=command.asked_by.login, usd=before.room, asked=command.usd, most=before.most
            )
            await self.replies.say(command, f"budget-{command.comment_id}", text)

    async def _refuse(self, context: CommandContext, refusal: Refusal, live: list[LaneRun]) -> None:
        command = context.command
        if command.verb == "remark" and refusal.rule in TOLD:
            await self.replies.react(context.client, command, PUZZLED)
            await self.replies.refuse(command, refusal, about=live[0].id)
        elif command.verb != "remark":
            await self.replies.react(context.client, command, PUZZLED)
            last = await self.lanes.find_ended(command) if refusal.rule == "under-way" else None
            await self.replies.refuse(command, refusal, about=last.id if last else "")
        elif refusal.rule == "unedited":
            await self.replies.react(context.client, command, PUZZLED)


async def _find_renewed_wish(context: CommandContext) -> str:
    """Return why the work goes on all the same; empty when it does not."""
    command = context.command
    where = {
        "owner": command.repository.owner,
        "repo": command.repository.name,
        "number": str(command.number),
    }
    try:
        issue = await context.client.getitem(ISSUE, where)
    except NotFound:
        return ""
    if command.via != "label":
        return UNDONE if issue["state"] == "open" else ""
    on_pull = "pull_request" in issue
    if on_pull and context.own.is_author(issue):
        return "it is Fettle's own pull request, which needs no label"
    wanted = ADDRESS_LABEL if on_pull else RESOLVE_LABEL
    return UNDONE if any(label["name"] == wanted for label in issue["labels"]) else ""


def _role(facts: ApprovalFacts) -> str:
    return facts.role_name or facts.permission


def _key(context: CommandContext) -> str:
    """Return what tells this from all else that was said: the same key counts once."""
    command = context.command
    said = (command.comment_id or context.ident, command.verb, command.words, command.usd)
    return f"{command.via}-{hashlib.sha256(repr(said).encode()).hexdigest()[:32]}"
