"""Step 5: a run: one pipeline working on one request, each stage done once and remembered."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, get_type_hints

from pydantic import BaseModel, TypeAdapter

from agents.errors import BudgetExceeded, ConfigError, ModelRefused, PolicyInvalid, RunError
from agents.loop.budget import Limits, Spent
from agents.loop.conversation import AnyConversation, Conversation, root_of, tool_list
from agents.loop.prompt import render, system_prompt
from agents.loop.session import Session, last_tree
from agents.policy import POLICY_PATH, Policy, parse_policy
from agents.ports import (
    Journal,
    Json,
    Model,
    Publisher,
    PullRequest,
    Query,
    Reporter,
    Source,
    Steps,
    WorkTree,
)
from agents.requests import Frozen, Request
from agents.text import commit_text, one_line, printable, quote
from agents.tools.base import Bench, Capability
from agents.tools.submit import Submission

P = ParamSpec("P")
Out = TypeVar("Out")
S = TypeVar("S", bound=Submission)


class Outcome(Frozen):
    """How a run ended, for people and for the record."""

    kind: Literal["pull_request", "comment", "refused", "failed"]
    text: str
    """One sentence for people; for a refusal or failure also why and what to do next."""
    rule: str | None = None
    """For a refusal: the id of the rule that decided."""
    url: str | None = None
    pull_request: PullRequest | None = None


@dataclass(frozen=True)
class Stage(Generic[P, Out]):
    """One durable step of a pipeline: declared by `@stage`, done by `Run.stage`."""

    name: str
    title: str
    work: Callable[Concatenate[Run, P], Awaitable[Out]]
    output: TypeAdapter[Out]


def stage(work: Callable[Concatenate[Run, P], Awaitable[Out]]) -> Stage[P, Out]:
    """Declare a stage: its name is the function's, its title the first line of the docstring."""
    title = (work.__doc__ or work.__name__).strip().splitlines()[0].rstrip(".")
    returns: Any = get_type_hints(work)["return"]
    output: TypeAdapter[Out] = TypeAdapter(returns)
    return Stage(work.__name__, title, work, output)


class _Record(BaseModel):
    """What the engine keeps of a finished stage: its output, and what it changed in the run."""

    output: Json = None
    summary: str = ""
    base: str = ""
    head: str = ""
    worked: float = 0.0
    sessions: dict[str, str] = {}
    error: str | None = None
    error_kind: str | None = None


@dataclass(frozen=True)
class Ports:
    """Everything the machine lends to one run."""

    model: Model
    journal: Journal
    source: Source
    publisher: Publisher
    reporter: Reporter
    steps: Steps


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
    current: str = ""
    """The stage occurrence at work, like `implement/2`."""
    summary: str = ""
    """What the stage at work wants people to read beside its name."""
    noreply: str = "users.noreply.github.com"
    """The host of GitHub's no-reply addresses, for the co-author trailer."""
    clock: Callable[[], float] = time.monotonic
    _tree: WorkTree | None = None
    _policy: Policy | None = None
    _tree_at: str | None = None
    """What the files are; None: nobody knows, so they are put back before they are used."""
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

        performed = False

        async def work() -> Json:
            nonlocal performed
            performed = True
            return await self._perform(stage, occurrence, *inputs, **named)

        record = _Record.model_validate(await self.ports.steps.step(f"stage/{occurrence}", work))
        if not performed:  # an earlier process did it: this one's reporter has not heard of it
            self.ports.reporter.stage_started(occurrence, stage.title)
            self.ports.reporter.stage_finished(occurrence, record.error or record.summary)
        if record.error is not None:
            raise _ERRORS.get(record.error_kind or "", RunError)(record.error)
        self.base, self.head, self.worked = record.base, record.head, record.worked
        self.sessions = dict(record.sessions)
        return stage.output.validate_python(record.output)

    async def _perform(
        self, stage: Stage[P, Out], occurrence: str, *inputs: P.args, **named: P.kwargs
    ) -> Json:
        before = (self.base, self.head, dict(self.sessions))
        self.current, self.summary, self._began = occurrence, "", self.clock()
        self.ports.reporter.stage_started(occurrence, stage.title)
        try:
            output = await stage.work(self, *inputs, **named)
        except RunError as error:
            # Error texts name files, whose names need not be text.
            record = _Record(error=printable(str(error)), error_kind=type(error).__name__)
        except ConfigError as error:
            record = _Record(error=printable(f"{_OPERATOR} {error}"))
        except BaseException:
            self.base, self.head, self.sessions = before  # the engine runs the stage again
            raise
        else:
            record = self._record(stage.output.dump_python(output, mode="json"))
        self.ports.reporter.stage_finished(occurrence, record.error or self.summary)
        return record.model_dump(mode="json")

    def _record(self, output: Json) -> _Record:
        return _Record(
            output=output,
            summary=self.summary,
            base=self.base,
            head=self.head,
            worked=self.worked + self.clock() - self._began,
            sessions=self.sessions,
        )

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
        if self._tree is None:
            self._tree = await self.ports.source.open(self.base, await self.policy())
        if self._tree_at != at or pristine:
            self._tree_at = None
            await self._tree.restore(at, pristine=pristine)
        self._tree_at = None if changing else at
        return self._tree

    async def converse(self, conversation: Conversation[S], **variables: object) -> S:
        """Hold this stage's conversation with the model and return what it submits."""
        session_id = self._session_id(conversation)
        journal = self.ports.journal
        left = last_tree(await journal.turns(session_id), self.current)
        changing = conversation.capability is Capability.CHANGE
        policy = await self.policy()
        tree = await self.tree(left, changing=changing)
        session = Session(
            id=session_id,
            stage=self.current,
            conversation=conversation,
            query=self._query(conversation),
            model=self.ports.model,
            journal=journal,
            reporter=self.ports.reporter,
            bench=Bench(tree=tree, capability=conversation.capability, policy=policy),
            boundary=self.ports.steps.boundary,
            limits=self.limits.within(policy.budget),
            spent=self._spent,
        )
        submission = await session.run(render(conversation.prompt, **variables))
        self._tree_at = last_tree(session.turns, self.current) or self.head
        return submission

    def _session_id(self, conversation: Conversation[S]) -> str:
        resumed = conversation.resumes
        self.sessions[conversation.name] = self.sessions[resumed] if resumed else self.current
        return self.sessions[conversation.name]

    def _query(self, conversation: Conversation[S]) -> Query:
        root = root_of(conversation, self.conversations)
        return Query(
            model=self.models[root.tier],
            system=system_prompt(),
            tools=tool_list(root, self.conversations),
            messages=(),
        )

    async def _spent(self) -> Spent:
        _, usd, turns = await self.ports.journal.spent()
        return Spent(usd, turns, (self.worked + self.clock() - self._began) / 60)

    async def commit(self, subject: str, body: str = "") -> str | None:
        """Commit the files as the conversation left them; None when nothing changed."""
        files = self._tree_at or self.head
        tree = await self.tree(files)
        if not await tree.changed(self.head, files):
            return None
        self.head = await tree.commit(
            files, self.head, self._message(one_line(subject, 72), commit_text(body))
        )
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
_ERRORS: dict[str, type[RunError]] = {
    kind.__name__: kind for kind in (RunError, BudgetExceeded, ModelRefused, PolicyInvalid)
}
