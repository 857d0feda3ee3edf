"""Step 5: what the stages of a run use: policy, files, conversations, commits."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from agents.errors import Parked, Unanswered
from agents.loop.budget import Limits, Spent
from agents.loop.consent import Consent, unanswered
from agents.loop.conversation import AnyConversation, Conversation, root_of, tool_list
from agents.loop.prompt import render, system_prompt
from agents.loop.remarks import LIMIT
from agents.loop.session import Look, Session
from agents.loop.turns import heard_outsiders, last_tree
from agents.policy import POLICY_PATH, Policy, parse_policy
from agents.ports import Approval, Asking, Block, Json, Query, WorkTree
from agents.requests import Request
from agents.run.values import Ports, Standing
from agents.text import commit_text, one_line, quote
from agents.tools.base import Bench, Capability
from agents.tools.submit import Submission

S = TypeVar("S", bound=Submission)


@dataclass
class Workshop:
    """The state of a run that its stages change, and what they change it with."""

    id: str
    request: Request
    ports: Ports
    conversations: Sequence[AnyConversation]
    models: Mapping[str, str]
    """Model name by tier."""
    limits: Limits
    standing: Standing = field(default_factory=Standing)
    current: str = ""
    """The stage occurrence at work, like `implement/2`."""
    summary: str = ""
    """What the stage at work wants people to read beside its name."""
    noreply: str = "users.noreply.github.com"
    """The host of GitHub's no-reply addresses, for the co-author trailer."""
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    learned: Json = None
    """What the stage at work learnt of other servers' tools, for the engine to keep."""
    left_by: str = ""
    """The stage occurrence that the run did not get through, if it ends early."""
    _tree: WorkTree | None = None
    _policy: Policy | None = None
    _tree_at: str | None = None
    """What the files are; None: nobody knows, so they are put back before they are used."""
    _permitted: dict[str, str] = field(default_factory=dict)
    """Protected paths that people let the stage at work change, each with a tree that has there
    what they said yes to."""
    _began: float = 0.0

    @property
    def trunk(self) -> str:
        """Return the newest commit of the default branch, as of the run's start."""
        return self.standing.trunk

    @property
    def base(self) -> str:
        """Return the commit that the change is compared with; empty before `prepare`."""
        return self.standing.base

    @property
    def head(self) -> str:
        """Return the newest commit of the run."""
        return self.standing.head

    @property
    def branch(self) -> str:
        """Return the branch of the open pull request that the run goes on with, if any."""
        return self.standing.branch

    @property
    def _branch_head(self) -> str:
        return self.standing.start if self.branch else ""

    @property
    def unchanged(self) -> bool:
        """Return whether the run has committed nothing so far."""
        return self.standing.head == self.standing.start

    @property
    def mark(self) -> str:
        """Return a short word that tells this run's branch from those of other runs."""
        return hashlib.sha256(self.id.encode()).hexdigest()[:6]

    def stands(self, **changes: Json) -> None:
        """Note where the run stands now, by fields of `Standing`."""
        self.standing = self.standing.model_copy(update=changes)

    async def policy(self) -> Policy:
        """Return the policy of the default branch as of the run's start."""
        if self._policy is None:
            self._policy = parse_policy(await self.ports.source.show(self.trunk, POLICY_PATH))
        return self._policy

    # --- files ----------------------------------------------------------------------------------

    async def tree(
        self, at: str | None = None, *, changing: bool = False, pristine: bool = False
    ) -> WorkTree:
        """Return the work tree with the files of `at` (a commit or tree), `head` by default.

        `changing`: what is done with it may change files. `pristine`: ignored files, which no
        commit holds, are taken away as well.
        """
        at = at or self.head
        if self._tree is None:  # also after people were waited for: its files were taken away
            self._tree = await self.ports.source.open(self.base, await self.policy())
        if self._tree_at != at or pristine:
            self._tree_at = None
            await self._tree.restore(at, pristine=pristine)
        self._tree_at = None if changing else at
        return self._tree

    def let_go(self) -> None:
        """Forget the work tree: while the run waits its files may be taken away."""
        self._tree, self._tree_at, self._policy = None, None, None

    async def commit(self, subject: str, body: str = "", *, onto: str = "") -> str | None:
        """Commit the files as the conversation left them; None when nothing changed.

        `onto`: an earlier commit of the run; the new one takes the place of all since then.
        """
        files = self._tree_at or self.head
        tree = await self.tree(files)
        if not await tree.changed(self.head, files):
            return None
        permitted = dict(self._permitted)
        if onto:  # what was let through before is let through in the commit that replaces it
            permitted = dict.fromkeys(await tree.changed(onto, self.head), self.head) | permitted
        message = self._message(one_line(subject, 72), commit_text(body))
        commit = await tree.commit(files, onto or self.head, message, permitted=permitted)
        self.stands(head=commit)
        self._tree_at = commit
        return commit

    def _message(self, subject: str, body: str) -> str:
        person = self.request.asked_by
        trailers = [f"Fettle-Run: {self.id}", f"Fettle-Stage: {self.current}"]
        if person.id:
            address = f"{person.id}+{person.login}@{self.noreply}"
            trailers.append(f"Co-authored-by: {person.login} <{address}>")
        return "\n\n".join(part for part in (subject, body, "\n".join(trailers)) if part) + "\n"

    async def what_is_left(self) -> str:
        """Return the files as the stage left them (a tree) that the run did not get through.

        Empty where it changed none. What it had come to before it waited counts as well.
        """
        for session in {self.left_by, *self.standing.sessions.values()}:  # one of them is its own
            if tree := last_tree(await self.ports.journal.turns(session), self.left_by):
                return tree
        return ""

    # --- the model ------------------------------------------------------------------------------

    async def converse(
        self,
        conversation: Conversation[S],
        *,
        pictures: Sequence[Block] = (),
        objection: Callable[[S], str | None] | None = None,
        **variables: object,
    ) -> S:
        """Hold this stage's conversation with the model and return what it submits.

        `objection` says of a submission what speaks against it: it is sent back to the model then.
        """
        session_id = self._session_id(conversation)
        ports = self.ports
        left = last_tree(await ports.journal.turns(session_id), self.current)
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
            boundary=ports.steps.boundary,
            look=self._look,
            fenced=self._remark,
            objection=objection,
        )
        submission = await session.run(render(conversation.prompt, **variables), pictures)
        self._tree_at = last_tree(session.turns, self.current) or self.head
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

    async def _look(self) -> Look:
        """Return what was used up, and what may be: people can give a run more meanwhile."""
        _, usd, turns = await self.ports.journal.spent()
        today = await self.ports.journal.spent_today()
        steers = await self.ports.steering.since() if self.ports.steering else ()
        more = sum(steer.usd for steer in steers if steer.kind == "budget")
        limits = self.limits.within((await self.policy()).budget, more)
        return Look(Spent(usd, turns, self._worked / 60, today), limits, steers)

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
