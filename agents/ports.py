"""The ports: what the workshop needs of the machine. `app/` implements them, tests fake them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agents.policy import Policy
from agents.requests import Frozen

Json = Any
Block = dict[str, Any]


# --- the model ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Query:
    """One call of the model. Everything but `messages` stays the same within a session."""

    model: str
    system: str
    tools: Sequence[Mapping[str, Any]]
    """Messages-API tool definitions, sorted by name."""
    messages: Sequence[Mapping[str, Any]]
    """Messages-API messages exactly as journalled: never edited, trimmed or re-serialised."""
    max_tokens: int = 32_000
    effort: Literal["low", "medium", "high"] = "high"


class Usage(Frozen):
    """Tokens of one answer; the whole prompt is `input + cache_write + cache_read`."""

    input: int = 0
    output: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum, field by field."""
        return Usage(**{k: v + getattr(other, k) for k, v in self.model_dump().items()})


@dataclass(frozen=True)
class Answer:
    """What the model said: content blocks verbatim, thinking signatures included."""

    content: list[Block]
    stop_reason: str
    usage: Usage
    cost_usd: float
    model: str
    request_id: str | None
    seconds: float


class Model(Protocol):
    """A language model behind the Messages API."""

    async def answer(self, query: Query) -> Answer:
        """Return the model's answer.

        Raises TransientError for overload, rate limits and broken streams once its own short
        retries are used up; ConfigError for bad credentials; RunError for a request refused.
        """
        ...


# --- the journal --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """One entry of a session, in the order of the conversation.

    `prompt` is a user message by us, `answer` the model's, `results` the user message with the
    results of every tool call of the answer before it.
    """

    kind: Literal["prompt", "answer", "results"]
    stage: str
    """The stage occurrence that added it, like `implement/2`."""
    content: list[Block]
    stop_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    seconds: float = 0.0
    tree: str | None = None
    """For `results`: the work tree (git tree id) after these calls; None when unchanged."""


class Journal(Protocol):
    """The durable list of turns of each session of one run. Append-only."""

    async def turns(self, session: str) -> list[Turn]:
        """Return the turns of a session, oldest first; an unknown session has none."""
        ...

    async def append(self, session: str, number: int, turn: Turn) -> None:
        """Store the turn as entry `number` (0-based); return once it is on disk.

        Appending the same number twice is an error: two writers are at work on one session.
        """
        ...

    async def spent(self) -> tuple[Usage, float, int]:
        """Return tokens, dollars and answers of the whole run so far."""
        ...


# --- the work tree and the sandbox --------------------------------------------------------------


@dataclass(frozen=True)
class CommandResult:
    """How a command in the sandbox ended. `output` is stdout and stderr together, as written."""

    exit_code: int
    why: Literal["exit", "timeout", "output", "killed"]
    output: str
    """Head and tail, at most `max_output` bytes; a line in between says how much was left out."""
    seconds: float


class WorkTree(Protocol):
    """The disposable files of one run. Paths are relative to the repository root, with `/`."""

    async def read(self, path: str, *, limit: int = 1_000_000) -> bytes:
        """Return a regular file's bytes; ToolError for anything else, symlinks, or over limit."""
        ...

    async def write(self, path: str, data: bytes) -> None:
        """Create or replace a regular file, with its folders; ToolError if it would leave."""
        ...

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        writable: bool = True,
        max_output: int = 64_000,
    ) -> CommandResult:
        """Run a command in the sandbox with the work tree as its folder."""
        ...

    async def snapshot(self) -> str:
        """Return the git tree id of the files as they are now, and keep its objects."""
        ...

    async def restore(self, tree: str, *, pristine: bool = False) -> None:
        """Put the files back to that commit or tree; untracked files are removed.

        Ignored ones stay, as build output saves time, unless `pristine` asks for the tree alone.
        """
        ...

    async def commit(self, tree: str, parent: str, message: str) -> str:
        """Return the id of the commit of `tree` on `parent`.

        The same arguments give the same id, however often. Raises RunError when the change
        touches what the policy protects.
        """
        ...

    async def diff(self, old: str, new: str, *, context: int = 3) -> str:
        """Return the unified diff between two commits or trees."""
        ...

    async def changed(self, old: str, new: str) -> list[str]:
        """Return the paths that differ between two commits or trees."""
        ...

    async def show(self, revision: str, path: str) -> bytes | None:
        """Return a file of a commit, or None; never reads the work tree."""
        ...


class Source(Protocol):
    """The repository that a run works on: its history, and work trees made from it."""

    async def fetch(self) -> str:
        """Bring the default branch up to date and return the id of its newest commit."""
        ...

    async def show(self, revision: str, path: str) -> bytes | None:
        """Return a file of a commit, or None when it has none there."""
        ...

    async def files(self, revision: str) -> list[str]:
        """Return the paths of all files of a commit."""
        ...

    async def subjects(self, base: str, head: str) -> list[str]:
        """Return the subjects of the commits after `base` up to `head`, oldest first."""
        ...

    async def open(self, base: str, policy: Policy) -> WorkTree:
        """Return the run's work tree, made from `base` or as an earlier process left it."""
        ...


# --- what people see ----------------------------------------------------------------------------


class PullRequest(Frozen):
    """A pull request that is open on GitHub, or for a local run the branch that would be one."""

    number: int | None
    url: str
    branch: str
    head: str
    base: str
    title: str
    body: str
    draft: bool


class Publisher(Protocol):
    """Lets a run's result out. Every call may be repeated: it looks before it writes."""

    async def push(self, branch: str, commit: str) -> None:
        """Put the commit on the run's branch; RunError when someone else moved it."""
        ...

    async def open_pull_request(
        self, *, branch: str, commit: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        """Open the pull request of this branch, or bring the open one up to date."""
        ...

    async def comment(self, key: str, body: str) -> str:
        """Say this on the request's issue once, whatever happens; return its URL."""
        ...


StepState = Literal["waiting", "running", "done", "failed", "skipped"]


class Reporter(Protocol):
    """Keeps people informed while a run works. Never raises: telling must not stop the doing."""

    def stage_started(self, stage: str, title: str) -> None:
        """Tell that the stage occurrence (`implement/2`) is at work; title is for people."""
        ...

    def stage_finished(self, stage: str, summary: str) -> None:
        """Tell that it is done, in a few words."""
        ...

    def tool_called(self, stage: str, tool: str, subject: str) -> None:
        """Tell which tool works on what, for live views."""
        ...

    def spent(self, usage: Usage, cost_usd: float, answers: int) -> None:
        """Tell the run's totals so far."""
        ...


# --- durable steps ------------------------------------------------------------------------------


class Steps(Protocol):
    """The engine as a pipeline sees it."""

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:
        """Run `work` once in the life of the run, keep its JSON, and return it ever after.

        A step in flight when the process dies runs again: `work` must look before it writes.
        """
        ...

    async def boundary(self) -> None:
        """Pass a place where stopping loses nothing; a shutdown holds the stage here."""
        ...
