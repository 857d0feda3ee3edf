"""What the stages of a run work with: its files, the model, people, and what is kept of each."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from agents.analysis.weakening import Finding
from agents.errors import (
    OUTSIDE,
    Cancelled,
    ConfigError,
    ModelClosed,
    NoRoom,
    NotYet,
    Overloaded,
    Parked,
    PolicyInvalid,
    RunError,
    Unanswered,
)
from agents.loop import AnyConversation, Capability, Conversation, Submission
from agents.loop.budget import RunLimits, Spent
from agents.loop.consent import Consent, describe_timeout
from agents.loop.conversation import (
    PORTS,
    begin_query,
    list_answered,
    list_own_tools,
    render,
    root_of,
    tier_of,
)
from agents.loop.session import BudgetState, Objection, Session
from agents.loop.transcript import Transcript
from agents.loop.turns import REMARK_LIMIT, heard_outsiders, last_tree
from agents.policy import Effort, Tier, WorkPath
from agents.ports import Approval, ApprovalRequest, Block, Json, Query, Steps, WorkTree
from agents.requests import WAITING_DESCRIPTION, WAITING_LABEL, Person, ResolveIssue
from agents.run import secret_check
from agents.run.environment import find_image
from agents.run.state import RunState, StageRecord, choose_pause, describe_pause
from agents.run.workspace import RunWorkspace
from agents.text import printable, quote
from agents.tools.base import Bench
from agents.tools.gate.grant import PlanGrant

S = TypeVar("S", bound=Submission)

MOST_PAUSES = 100  # of one stage: a day or more


@dataclass(kw_only=True)
class StageContext(RunWorkspace):
    """The state of a run that its stages change, and what they change it with."""

    steps: Steps
    conversations: Sequence[AnyConversation]
    models: Mapping[str, str]
    """Model name by tier."""
    efforts: Mapping[str, Effort] = field(default_factory=dict)
    """How hard models think, by the conversation that begins; `*` is all others."""
    tiers: Mapping[str, Tier] = field(default_factory=dict)
    """Which model holds a conversation, where that is not our choice."""
    path: WorkPath = "whole"
    """How an issue becomes a change, where the policy does not say it."""
    limits: RunLimits
    clock: Callable[[], float] = time.monotonic
    learned: Json = None
    """What the stage at work learnt of other servers' tools, for the engine to keep."""
    waits: int = 0
    """How often the stage at work has waited."""
    stopping: bool = False
    """The run is at its end: what is done now, nobody calls back any more."""
    shown: bool = False
    """People see what the stage at work does from here on: a cancel does not cut it off."""
    _began: float = 0.0

    def lets_out(self) -> None:
        """Note that people see what the stage does from here on: a cancel does not cut it off."""
        self.shown = True

    async def learn_tools(self) -> None:
        """Ask other servers for their tools, the same ones for the whole run from here on."""
        if self.ports.toolsets is not None:
            self.learned = await self.ports.toolsets.fetch_tools(await self.policy())

    # --- where the run is, as `Run` leads it ----------------------------------------------------

    @property
    def past_recall(self) -> bool:
        """Return whether nobody can cancel the run any more."""
        return self.stopping or self.pushed

    def stop(self) -> None:
        """Begin the run's end."""
        self.stopping = True

    def enter(self, occurrence: str) -> None:
        """Come to the stage, whether it was done before or not."""
        self.waits = 0
        if not self.stopping:
            self.left_by = occurrence

    async def stand_on(self, trunk: str) -> None:
        """Stand on this commit of the default branch, in the image that it names.

        That is looked up once: a run ends in the image that it began in, and one that began on
        this machine stays there.
        """
        begun = bool(self.trunk)
        self.update_state(trunk=trunk, base=trunk, start=trunk, head=trunk)
        if begun:
            return
        try:
            policy = await self.policy()
        except PolicyInvalid:
            return  # whoever works by it says so
        self.update_state(image=await find_image(self.ports.source, trunk, policy))

    def begin(self, occurrence: str) -> None:
        """Begin the stage's work."""
        self.current, self.summary, self._began = occurrence, "", self.clock()
        self._permitted, self.learned, self.shown = {}, None, False

    def replay(self, occurrence: str) -> None:
        """Pass by a stage whose work is recorded."""
        self.current = occurrence

    def rest(self, standing: RunState) -> None:
        """Let the stage wait: what can be made again is made again when it is needed."""
        self.waits += 1
        self.standing = standing
        self.let_go()

    def take_over(self, standing: RunState) -> None:
        """Stand where the stage left the run."""
        # An earlier run's record, taken up by this one, knows nothing of who asked this time.
        tainted = self.standing.tainted or standing.tainted
        self.standing = standing.model_copy(update={"tainted": tainted})

    def leave(self) -> None:
        """Note that the run got through the stage."""
        if not self.stopping:
            self.left_by = ""

    # --- what is kept of a stage ----------------------------------------------------------------

    def record(self, output: Json) -> StageRecord:
        """Return the record of a stage that ended well."""
        self.update_state(worked=self._worked)
        return StageRecord(
            output=output, summary=self.summary, standing=self.standing, toolsets=self.learned
        )

    def record_failure(
        self, error: RunError | ConfigError | Cancelled, before: RunState
    ) -> StageRecord:
        """Return the record of a stage that failed; the run stands where it did before it."""
        self.standing = before
        of_operator = isinstance(error, ConfigError)  # whatever is set wrong, it is mended alike
        text = f"{_OPERATOR} {error}" if of_operator else str(error)
        if isinstance(error, OUTSIDE):
            text += self._say_how_to_go_on()
        return StageRecord(
            # Error texts name files, whose names need not be text.
            error=printable(text),
            error_kind=(ConfigError if of_operator else type(error)).__name__,
            standing=before.model_copy(update={"worked": self._worked}),
        )

    def _say_how_to_go_on(self) -> str:
        """Return by what the stage at work goes on, once what stopped it is mended."""
        if self.request.unasked:
            return ""
        if self.request.number:
            return f" `/bot retry from {self.current}` goes on where it stopped."
        return _ON_CLONE if isinstance(self.request, ResolveIssue) else ""

    def record_wait(self, stopped: BaseException, before: RunState) -> StageRecord | None:
        """Return the record of a stage that waits, and is done again then, if that is what it is.

        The run stands where it did before the stage, in any case.
        """
        self.standing = before
        standing = before.model_copy(update={"worked": self._worked})
        if isinstance(stopped, Parked):
            return StageRecord(parked=stopped.approvals, standing=standing)
        if isinstance(stopped, Overloaded) and self.waits >= MOST_PAUSES:
            return self.record_failure(NoRoom(_NO_ROOM.format(reason=stopped)), before)
        if isinstance(stopped, Overloaded):
            return self._record_pause(str(stopped), stopped.retry_after, standing)
        here = self.request.installation_id == 0  # beside a person at a clone, who need not wait
        if isinstance(stopped, ModelClosed) and not here and self.waits < MOST_PAUSES:
            return self._record_pause(f"{_CLOSED} {stopped}", None, standing)
        if isinstance(stopped, NotYet):
            until = self.wall() + stopped.seconds
            return StageRecord(paused_until=until, summary=str(stopped), standing=standing)
        return None

    def _record_pause(self, why: str, seconds: float | None, standing: RunState) -> StageRecord:
        until = self.wall() + choose_pause(self.waits, seconds)
        why = describe_pause(until, why)
        return StageRecord(paused_until=until, summary=why, standing=standing)

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

        Raises ModelRefused, BudgetExceeded, Parked and Unanswered, as `Session.run` does.
        `objection` says of a submission what speaks against it: it is sent back to the model then.
        `begin`: the files that it begins with, a commit or tree; `head` by default.
        """
        session_id = self._session_id(conversation)
        ports = self.ports
        left = last_tree(await ports.journal.turns(session_id), self.current) or begin
        bench = await self._bench(conversation, left)
        session = Session(
            transcript=Transcript(
                id=session_id,
                stage=self.current,
                query=self._query(conversation),
                passing=self._asks_another(conversation),
                handed_over=conversation.handed_over,
                model=ports.model,
                journal=ports.journal,
                fallback=self.models.get("fallback", ""),
            ),
            conversation=conversation,
            reporter=ports.reporter,
            bench=bench,
            consent=Consent(
                ports.approvals, session_id, self.current, self.branch, self._branch_head
            ),
            boundary=self.steps.boundary,
            look=self._look,
            fenced=self._remark,
            objection=self._object_to_secrets(conversation, objection, begin or self.head),
        )
        submission = await session.run(render(conversation.prompt, **variables), pictures)
        self._tree_at = last_tree(session.turns, self.current) or begin or self.head
        self._permitted |= await session.consent.find_permitted_paths(session.turns, bench)
        self._permitted |= await self._find_granted_paths()
        if heard_outsiders(session.turns):
            self.update_state(tainted=True)
        return submission

    def _object_to_secrets(
        self, conversation: Conversation[S], objection: Objection[S] | None, begin: str
    ) -> Objection[S] | None:
        """Return what speaks against secrets, too, that were not there at the beginning."""
        if conversation.capability is not Capability.CHANGE:
            return objection

        async def look() -> Sequence[Finding]:
            tree = self.at_work
            return await secret_check.list_secrets(tree, begin, await tree.snapshot())

        return secret_check.SecretCheck(look, objection)

    async def commit(
        self,
        subject: str,
        body: str = "",
        *,
        onto: str = "",
        credit: Person | None = None,
        moves_action: str = "",
    ) -> str | None:
        """Commit the files as the stage left them; None when nothing changed.

        Raises RunError where they hold what looks like a secret, unless people let it in.
        """
        files = self.left
        found = await secret_check.list_secrets(await self.tree(files), self.head, files)
        if found:
            await self._agree_to_secrets(found, files)
        return await super().commit(
            subject, body, onto=onto, credit=credit, moves_action=moves_action
        )

    async def _agree_to_secrets(self, found: Sequence[Finding], files: str) -> None:
        why = "nobody could be asked"
        if self.ports.approvals is not None and not self.stopping:
            question = secret_check.make_question(found, files)
            rule, reason = secret_check.RULE, secret_check.REASON
            said = await self.consent(
                secret_check.WHAT, question, rule=rule, reason=reason, part=files[:12]
            )
            if said.state == "approved":
                return
            why = f"{said.decided_by} said no" if said.state == "denied" else "the answer is void"
        places = "; ".join(f"{each.place} looks like a secret ({each.text})" for each in found[:5])
        raise RunError(secret_check.REFUSED.format(places=places, why=why))

    async def bench(self, capability: Capability, tree: WorkTree) -> Bench:
        """Return what the tools of this stage work with."""
        return Bench(
            tree=tree,
            capability=capability,
            policy=await self.policy(),
            stage=self.current.partition("/")[0],
            head=self.head,
            tainted=self.standing.tainted,
            known=await self.find_known_packages(),
            grant=self.grant,
            web=self.ports.web,
            forge=self.ports.forge,
            toolsets=self.ports.toolsets,
        )

    @property
    def grant(self) -> PlanGrant | None:
        """Return what people granted this run with its plan."""
        grant = self.standing.grant
        return grant if grant.run == self.id else None

    async def list_grant_uses(self) -> list[tuple[str, bool]]:
        """Return what people granted with the plan, each with whether it was used."""
        if self.grant is None:
            return []
        tree = await self.tree()
        changed = await tree.list_changed_paths(self.base, self.head)
        return self.grant.list_uses(await tree.list_install_commands(), changed)

    async def _find_granted_paths(self) -> dict[str, str]:
        """Return the protected paths that the stage changed as was granted, each with its files."""
        if self.grant is None or not self.grant.paths or self.left == self.head:
            return {}
        changed = await (await self.tree(self.left)).list_changed_paths(self.head, self.left)
        return {path: self.left for path in changed if self.grant.admits(path)}

    async def _bench(self, conversation: AnyConversation, left: str | None) -> Bench:
        changing = conversation.capability is Capability.CHANGE
        tree = await self.tree(left, changing=changing)
        bench = await self.bench(conversation.capability, tree)
        return replace(bench, tools=conversation.tools)

    def _session_id(self, conversation: Conversation[S]) -> str:
        sessions, resumed = self.standing.sessions, conversation.resumes
        session_id = sessions[resumed] if resumed else self.current
        self.update_state(sessions={**sessions, conversation.name: session_id})
        return session_id

    def _query(self, conversation: Conversation[S]) -> Query:
        toolsets = self.ports.toolsets
        more = toolsets.definitions() if toolsets else ()
        root = root_of(conversation, self.conversations)
        head = conversation if self._asks_another(conversation) else root
        effort = self.efforts.get(head.name) or self.efforts.get("*", head.effort)
        tier = tier_of(head, self.conversations, self.tiers)
        among = list_answered(tier, self.conversations, self.tiers, self.models)
        present = [name for name in PORTS if getattr(self.ports, name) is not None]
        query = begin_query(self.models[tier], among, more, ports=present, effort=effort)
        own = root.tools is not None
        return replace(query, tools=list_own_tools(root)) if own else query

    def asks_alike(self, one: AnyConversation, other: AnyConversation) -> bool:
        """Return whether both begin with the same model that thinks equally hard."""
        first, second = self._query(one), self._query(other)
        return (first.model, first.effort) == (second.model, second.effort)

    def _asks_another(self, conversation: AnyConversation) -> bool:
        """Return whether another model holds it than the one whose session it goes on with."""
        root = root_of(conversation, self.conversations)
        tier, own = (tier_of(each, self.conversations, self.tiers) for each in (conversation, root))
        return self.models[tier] != self.models[own]

    async def _look(self) -> BudgetState:
        """Return what was used up, and what may be: people can give a run more meanwhile."""
        _, usd, turns = await self.ports.journal.sum_usage()
        today = await self.ports.journal.spent_today()
        steers = await self.ports.steering.list_after() if self.ports.steering else ()
        more = sum(steer.usd for steer in steers if steer.kind == "budget")
        limits = self.limits.limit_to(
            (await self.policy()).budget, more, unasked=self.request.unasked
        )
        return BudgetState(Spent(usd, turns, self._worked / 60, today), limits, steers)

    @property
    def _worked(self) -> float:
        return self.standing.worked + self.clock() - self._began

    def fence(self, text: str, *, limit: int = 20_000) -> str:
        """Return untrusted text fenced for this stage's prompt, cut to `limit` characters.

        Nobody outside can foresee the fence, since the run id holds the delivery's id and time;
        the same stage gets the same one again, since prompts must not change when a run resumes.
        """
        mark = hashlib.sha256(f"{self.id} {self.current}".encode()).hexdigest()[:16]
        return quote(text, mark, limit=limit)

    def _remark(self, words: str) -> str:
        return self.fence(words, limit=REMARK_LIMIT)

    # --- people ---------------------------------------------------------------------------------

    async def consent(
        self, what: str, arguments: Json, *, rule: str, reason: str, part: str = ""
    ) -> Approval:
        """Return what people decided on an act of the stage itself, shown to them whole.

        `part` tells it from other acts of the same stage.
        Raises Parked until they have, Unanswered when their time is over.
        """
        port = self.ports.approvals
        assert port is not None, "whoever asks looks first whether anybody can be asked"
        asking = ApprovalRequest(
            call_id=f"stage/{self.current}/{part}" if part else f"stage/{self.current}",
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
            raise Unanswered(describe_timeout(asking, said))
        if said.state == "waiting":
            raise Parked([said.id])
        return said

    async def show_waiting(self, *, on: bool) -> None:
        """Put the label of a waiting run on the issue or take it off, where there is an issue."""
        if self.ports.tracker is not None:
            await self.ports.tracker.label(WAITING_LABEL, on=on, description=WAITING_DESCRIPTION)


_NO_ROOM = "The model's server had no room for this run again and again, for hours: {reason}"
_CLOSED = "Fettle's operator has to act, and then it goes on by itself."
_ON_CLONE = " The same command with `--resume` goes on where it stopped."
_OPERATOR = "Fettle is not set up right, so the run stopped. Its operator has to act:"
