"""The label put on again: the runs before end, once whoever put it on is known to be allowed to."""

from __future__ import annotations

from dataclasses import dataclass

from agents.policy import InvalidPolicy
from agents.requests import ResolveIssue, request_of
from app.commands.context import CommandContext
from app.github.access.issue_facts import issue_facts
from app.policies.gate import PolicyOf
from app.store.runs import ANEW, Lanes, Runs, StoredSteers
from handlers.access import issues as access
from handlers.access import policy as access_policy


@dataclass(frozen=True)
class RunSuccession:
    """Lets a newer run take over from the older runs of its issue."""

    runs: Runs
    lanes: Lanes
    steers: StoredSteers
    policy: PolicyOf

    async def obey(self, context: CommandContext) -> dict[str, str]:
        """Cancel the older runs if the newer one may begin; return the result for the record.

        Nobody is told anything here: why it may not begin, the newer run says itself.
        """
        run_id = context.ident.removesuffix(ANEW)
        request = request_of(await self.runs.request(run_id))
        older = await self.lanes.live(request, before=run_id)
        if not older or not isinstance(request, ResolveIssue):
            return {"dropped": "no older run is under way"}
        facts = await issue_facts(context.client, request)
        refusal = access.decide(request, facts)
        if refusal is None:
            found = await self.policy(context.command)
            named = {} if isinstance(found, InvalidPolicy) else found.policy.models.named
            # Which models there may be is between owners and operator, and nobody's right.
            refusal = access_policy.decide(request, found, facts, frozenset(named.values()))
        if refusal is not None:
            return {"refused": refusal.rule}
        role = facts.role_name or facts.permission
        await self.steers.supersede(run_id, request, role=role)
        return {"steered": older[0].id}
