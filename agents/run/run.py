"""Step 5: the run itself: what its pipeline sees, and what its stages use."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

from agents.errors import ConfigError, Parked, RunError
from agents.loop.budget import Limits, Spent
from agents.loop.consent import Consent
from agents.loop.conversation import AnyConversation, Conversation, root_of, tool_list
from agents.loop.prompt import render, system_prompt
from agents.loop.session import Session
from agents.loop.turns import heard_outsiders, last_tree
from agents.policy import POLICY_PATH, Policy, parse_policy
from agents.ports import Json, Query, WorkTree
from agents.requests import Request
from agents.run.stages import Stage
from agents.run.values import Ports, Record
from agents.text import commit_text, one_line, printable, quote
from agents.tools.base import Bench, Capability
from agents.tools.submit import Submission

P = ParamSpec("P")
Out = TypeVar("Out")
S = TypeVar("S", bound=Submission)


@dataclass
class Run:
    """The state a pipeline works on. Only `stage` changes it, so a replay finds it unchanged."""

    id: str
    request: Request
    ports: Ports
    conversations: Sequence[AnyConversation]
    models: Mapping[str, str]
    """Model name by tier."""
    limits: Limits
    base: str = ""
    """The commit of the default branch that the work stands on; empty before `prepare`."""
    head: str = ""
    """The newest commit of the run; equal to `base` while nothing was committed."""
    worked: float = 0.0
    """Seconds that the finished stages took. The time between them, and that of a process that
    died, is nobody's work: a run must not use up its budget by waiting."""
    sessions: dict[str, str] = field(default_factory=dict)
    """Session id of the newest conversation by name, like {"implement": "implement/2"}."""
    tainted: bool = False
    """Somebody who may not write to the repository has a say: in the request at the start, later
    also through what the tools found."""
    current: str = ""
    """The stage occurrence at work, like `implement/2`."""
    summary: str = ""
    """What the stage at work wants people to read beside its name."""
    noreply: str = "users.noreply.github.com"
    """The host of GitHub's no-reply addresses, for the co-author trailer."""
    clock: Callable[[], float] = time.monotonic
    learned: Json = None
    """What the stage at work learnt of other servers' tools, for the engine to keep."""
    _tree: WorkTree | None = None
    _policy: Policy | None = None
    _tree_at: str | None = None
    """What the files are; None: nobody knows, so they are put back before they are used."""
    _permitted: dict[str, str] = field(default_factory=dict)
    """Protected paths that people let the stage at work change, each with a tree that has there
    what they said yes to."""
    _began: float = 0.0
    _seen: Counter[str] = field(default_factory=Counter)

    @property
    def mark(self) -> str:
        """Return a short word that tells this run's branch from those of other runs."""
        return hashlib.sha256(self.id.encode()).hexdigest()[:6]

    @property
    def unchanged(self) -> bool:
        """Return whether nothing was committed so far."""
        return self.head == self.base

    async def stage(self, stage: Stage[P, Out], *inputs: P.args, **named: P.kwargs) -> Out:
        """Do the stage, or return what it returned before the process died."""
        self._seen[stage.name] += 1
        occurrence = f"{stage.name}/{self._seen[stage.name]}"

        async def work() -> Json:
            return await self._perform(stage, occurrence, *inputs, **named)

        record = await self._done(occurrence, stage.title, work)
        if record.error is not None:
            raise _ERRORS.get(record.error_kind or "", RunError)(record.error)
        self.base, self.head, self.worked = record.base, record.head, record.worked
        self.sessions, self.tainted = dict(record.sessions), self.tainted or record.tainted
        if record.toolsets is not None and self.ports.toolsets:
            self.ports.toolsets.recall(record.toolsets)
        return stage.output.validate_python(record.output)

    async def _done(
        self, occurrence: str, title: str, work: Callable[[], Awaitable[Json]]
    ) -> Record:
        """Have the stage done, once more each time that people have decided what it asked."""
        record = await self._remembered(f"stage/{occurrence}", occurrence, title, work)
        times = 0
        while record.parked:
            times += 1
            self.worked = record.worked
            self._tree, self._tree_at, self._policy = None, None, None  # made again when needed
            self.ports.reporter.parked(occurrence, record.parked)
            over = partial(self._decided, record.parked)
            await self.ports.steps.wait(f"approval/{occurrence}/{times}", over)
            record = await self._remembered(f"stage/{occurrence}~{times}", occurrence, title, work)
        return record

    async def _decided(self, approvals: Sequence[str]) -> bool:
        port = self.ports.approvals
        return port is None or await port.settled(approvals)

    async def _remembered(
        self, name: str, occurrence: str, title: str, work: Callable[[], Awaitable[Json]]
    ) -> Record:
        performed = False

        async def performing() -> Json:
            nonlocal performed
            performed = True
            return await work()

        record = Record.model_validate(await self.ports.steps.step(name, performing))
        if not performed:  # an earlier process did it: this one's reporter has not heard of it
            self.ports.reporter.stage_started(occurrence, title)
            if not record.parked:
                self.ports.reporter.stage_finished(occurrence, record.error or record.summary)
        return record

    async def _perform(
        self, stage: Stage[P, Out], occurrence: str, *inputs: P.args, **named: P.kwargs
    ) -> Json:
        before = (self.base, self.head, dict(self.sessions), self.tainted)
        self.current, self.summary, self._began = occurrence, "", self.clock()
        self._permitted, self.learned = {}, None
        self.ports.reporter.stage_started(occurrence, stage.title)
        try:
            output = await stage.work(self, *inputs, **named)
        except RunError as error:
            # Error texts name files, whose names need not be text.
            record = Record(error=printable(str(error)), error_kind=type(error).__name__)
        except ConfigError as error:
            record = Record(error=printable(f"{_OPERATOR} {error}"))
        except BaseException as stopped:
            # The stage will be done again from its start; what was said and made is found there.
            self.base, self.head, self.sessions, self.tainted = before
            if isinstance(stopped, Parked):
                record = Record(parked=stopped.approvals, worked=self._worked)
                return record.model_dump(mode="json")
            raise
        else:
            record = self._record(stage.output.dump_python(output, mode="json"))
        self.ports.reporter.stage_finished(occurrence, record.error or self.summary)
        return record.model_dump(mode="json")

    def _record(self, output: Json) -> Record:
        return Record(
            output=output,
            summary=self.summary,
            base=self.base,
            head=self.head,
            worked=self._worked,
            sessions=self.sessions,
            tainted=self.tainted,
            toolsets=self.learned,
        )

    @property
    def _worked(self) -> float:
        return self.worked + self.clock() - self._began

    # --- what stages use ------------------------------------------------------------------------

    async def policy(self) -> Policy:
        """Return the policy of the default branch as of `base`."""
        if self._policy is None:
            self._policy = parse_policy(await self.ports.source.show(self.base, POLICY_PATH))
        return self._policy

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

    async def converse(self, conversation: Conversation[S], **variables: object) -> S:
        """Hold this stage's conversation with the model and return what it submits."""
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
            consent=Consent(ports.approvals, session_id, self.current),
            boundary=ports.steps.boundary,
            limits=self.limits.within(bench.policy.budget),
            spent=self._spent,
        )
        submission = await session.run(render(conversation.prompt, **variables))
        self._tree_at = last_tree(session.turns, self.current) or self.head
        self._permitted |= await session.consent.permitted(session.turns, bench)
        self.tainted = self.tainted or heard_outsiders(session.turns)
        return submission

    async def _bench(self, conversation: AnyConversation, left: str | None) -> Bench:
        changing = conversation.capability is Capability.CHANGE
        return Bench(
            tree=await self.tree(left, changing=changing),
            capability=conversation.capability,
            policy=await self.policy(),
            stage=self.current.partition("/")[0],
            head=self.head,
            tainted=self.tainted,
            web=self.ports.web,
            forge=self.ports.forge,
            toolsets=self.ports.toolsets,
        )

    def _session_id(self, conversation: Conversation[S]) -> str:
        resumed = conversation.resumes
        self.sessions[conversation.name] = self.sessions[resumed] if resumed else self.current
        return self.sessions[conversation.name]

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

    async def _spent(self) -> Spent:
        _, usd, turns = await self.ports.journal.spent()
        return Spent(usd, turns, self._worked / 60)

    async def commit(self, subject: str, body: str = "") -> str | None:
        """Commit the files as the conversation left them; None when nothing changed."""
        files = self._tree_at or self.head
        tree = await self.tree(files)
        if not await tree.changed(self.head, files):
            return None
        message = self._message(one_line(subject, 72), commit_text(body))
        self.head = await tree.commit(files, self.head, message, permitted=self._permitted)
        self._tree_at = self.head
        return self.head

    def _message(self, subject: str, body: str) -> str:
        person = self.request.asked_by
        trailers = [f"Fettle-Run: {self.id}", f"Fettle-Stage: {self.current}"]
        if person.id:
            address = f"{person.id}+{person.login}@{self.noreply}"
            trailers.append(f"Co-authored-by: {person.login} <{address}>")
        return "\n\n".join(part for part in (subject, body, "\n".join(trailers)) if part) + "\n"

    def fenced(self, text: str, *, limit: int = 20_000) -> str:
        """Return untrusted text fenced for this stage's prompt, cut to `limit` characters.

        Nobody outside can foresee the fence, since the run id holds the delivery's id and time;
        the same stage gets the same one again, since prompts must not change when a run resumes.
        """
        mark = hashlib.sha256(f"{self.id} {self.current}".encode()).hexdigest()[:16]
        return quote(text, mark, limit=limit)


_OPERATOR = "Fettle is not set up right, so the run stopped. Its operator has to act:"
_ERRORS = {kind.__name__: kind for kind in RunError.__subclasses__()}
