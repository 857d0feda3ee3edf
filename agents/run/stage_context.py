"""Step 5: what the stages of a run use to talk with the model, and with people."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from agents.errors import Parked, Unanswered
from agents.loop.budget import RunLimits, Spent
from agents.loop.consent import Consent, unanswered
from agents.loop.conversation import AnyConversation, Conversation, root_of, tool_list
from agents.loop.prompt import render, system_prompt
from agents.loop.remarks import LIMIT
from agents.loop.session import BudgetState, Objection, Session
from agents.loop.turns import heard_outsiders, last_tree
from agents.ports import Approval, Asking, Block, Json, Query, Steps, WorkTree
from agents.requests import RemediateAlert
from agents.run.workspace import Ground
from agents.text import quote
from agents.tools.base import Bench, Capability
from agents.tools.submit import Submission

S = TypeVar("S", bound=Submission)


@dataclass(kw_only=True)
class Workshop(Ground):
    """The state of a run that its stages change, and what they change it with."""

    steps: Steps
    conversations: Sequence[AnyConversation]
    models: Mapping[str, str]
    """Model name by tier."""
    limits: RunLimits
    clock: Callable[[], float] = time.monotonic
    learned: Json = None
    """What the stage at work learnt of other servers' tools, for the engine to keep."""
    _began: float = 0.0

    # --- the model ------------------------------------------------------------------------------

    async def converse(
        self,
        conversation: Conversation[S],
        *,
        pictures: Sequence[Block] = (),
        objection: Objection[S] | None = None,
        begin: str = "",
        **variables: object,
    ) -> S:
        """Hold this stage's conversation with the model and return what it submits.

        `objection` says of a submission what speaks against it: it is sent back to the model then.
        `begin`: the files that it begins with, a commit or tree; `head` by default.
        """
        session_id = self._session_id(conversation)
        ports = self.ports
        left = last_tree(await ports.journal.turns(session_id), self.current) or begin
        bench = await self._bench(conversation, left)
        session = Session(
            id=session_id,
            stage=self.current,
            conversation=conversation,
            query=self._query(conversation),
            model=ports.model,
            journal=ports.journal,
            reporter=ports.reporter,
            bench=bench,
            consent=Consent(
                ports.approvals, session_id, self.current, self.branch, self._branch_head
            ),
            boundary=self.steps.boundary,
            look=self._look,
            fenced=self._remark,
            objection=objection,
        )
        submission = await session.run(render(conversation.prompt, **variables), pictures)
        self._tree_at = last_tree(session.turns, self.current) or begin or self.head
        self._permitted |= await session.consent.permitted(session.turns, bench)
        if heard_outsiders(session.turns):
            self.stands(tainted=True)
        return submission

    async def bench(self, capability: Capability, tree: WorkTree) -> Bench:
        """Return what the tools of this stage work with."""
        return Bench(
            tree=tree,
            capability=capability,
            policy=await self.policy(),
            stage=self.current.partition("/")[0],
            head=self.head,
            tainted=self.standing.tainted,
            web=self.ports.web,
            forge=self.ports.forge,
            toolsets=self.ports.toolsets,
        )

    async def _bench(self, conversation: AnyConversation, left: str | None) -> Bench:
        changing = conversation.capability is Capability.CHANGE
        return await self.bench(conversation.capability, await self.tree(left, changing=changing))

    def _session_id(self, conversation: Conversation[S]) -> str:
        sessions, resumed = self.standing.sessions, conversation.resumes
        session_id = sessions[resumed] if resumed else self.current
        self.stands(sessions={**sessions, conversation.name: session_id})
        return session_id

    def _query(self, conversation: Conversation[S]) -> Query:
        root = root_of(conversation, self.conversations)
        toolsets = self.ports.toolsets
        more = toolsets.definitions() if toolsets else ()
        tools = [*tool_list(root, self.conversations), *more]
        return Query(
            model=self.models[root.tier],
            system=system_prompt(),
            tools=sorted(tools, key=lambda definition: str(definition["name"])),
            messages=(),
        )

    async def _look(self) -> BudgetState:
        """Return what was used up, and what may be: people can give a run more meanwhile."""
        _, usd, turns = await self.ports.journal.spent()
        today = await self.ports.journal.spent_today()
        steers = await self.ports.steering.since() if self.ports.steering else ()
        more = sum(steer.usd for steer in steers if steer.kind == "budget")
        unasked = isinstance(self.request, RemediateAlert) and self.request.unasked
        limits = self.limits.within((await self.policy()).budget, more, unasked=unasked)
        return BudgetState(Spent(usd, turns, self._worked / 60, today), limits, steers)

    @property
    def _worked(self) -> float:
        return self.standing.worked + self.clock() - self._began

    def fenced(self, text: str, *, limit: int = 20_000) -> str:
        """Return untrusted text fenced for this stage's prompt, cut to `limit` characters.

        Nobody outside can foresee the fence, since the run id holds the delivery's id and time;
        the same stage gets the same one again, since prompts must not change when a run resumes.
        """
        mark = hashlib.sha256(f"{self.id} {self.current}".encode()).hexdigest()[:16]
        return quote(text, mark, limit=limit)

    def _remark(self, words: str) -> str:
        return self.fenced(words, limit=LIMIT)

    # --- people ---------------------------------------------------------------------------------

    async def consent(self, what: str, arguments: Json, *, rule: str, reason: str) -> Approval:
        """Return what people decided on an act of the stage itself, shown to them whole.

        Raises Parked until they have, Unanswered when their time is over.
        """
        port = self.ports.approvals
        assert port is not None, "whoever asks looks first whether anybody can be asked"
        asking = Asking(
            call_id=f"stage/{self.current}",
            session="",
            stage=self.current,
            tool=what,
            arguments=arguments,
            rule=rule,
            reason=reason,
            head=self.head,
            branch=self.branch,
            branch_head=self._branch_head,
            days=(await self.policy()).approvals.days,
        )
        said = await port.ask(asking)
        if said.state == "expired":
            raise Unanswered(unanswered(asking, said))
        if said.state == "waiting":
            raise Parked([said.id])
        return said
