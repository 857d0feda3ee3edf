"""State of CI on a commit: check suites, check runs, workflow runs, statuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from app.simulator.github.accounts import Account, App, Thing

if TYPE_CHECKING:
    from app.simulator.github.state.world import Repository

FAILED = ("failure", "timed_out", "cancelled", "action_required", "startup_failure")


@dataclass(eq=False, kw_only=True)
class CheckSuite(Thing):
    """The check runs of one App on one commit; each run of Actions has a suite of its own."""

    app: App
    head_sha: str
    head_branch: str | None
    runs: list[CheckRun] = field(default_factory=list)

    prefix = "CS"

    @property
    def latest(self) -> list[CheckRun]:
        """Return the newest run of each name."""
        return list({each.name: each for each in self.runs}.values())

    @property
    def status(self) -> str:
        """Return `completed` once every run of it is."""
        states = {each.status for each in self.latest}
        if states <= {"completed"}:
            return "completed" if states else "queued"
        return "queued" if states == {"queued"} else "in_progress"

    @property
    def conclusion(self) -> str | None:
        """Return what its runs come to: the worst of them."""
        if self.status != "completed":
            return None
        found = [each.conclusion for each in self.latest]
        worst = next((each for each in FAILED if each in found), None)
        return worst or ("success" if "success" in found else found[0])


@dataclass(eq=False, kw_only=True)
class CheckRun(Thing):
    """What an App says about a commit, with a summary."""

    app: App
    suite: CheckSuite
    name: str
    head_sha: str
    status: str
    conclusion: str | None
    external_id: str
    details_url: str | None
    started_at: datetime
    completed_at: datetime | None
    output: dict[str, str | None]
    annotations: int = 0
    buttons: list[dict[str, str]] = field(default_factory=list)

    prefix = "CR"


@dataclass(frozen=True)
class PartResult:
    """How a part of a run of Actions is to end; `steps` are names with their conclusions."""

    name: str
    conclusion: str = "success"
    log: str = ""
    steps: tuple[tuple[str, str], ...] = ()


@dataclass(eq=False)
class RunPart:
    """A part of a run of Actions, with steps and a log; its id is that of its check run."""

    check: CheckRun
    attempt: int
    steps: tuple[tuple[str, str], ...]
    log: str
    seal: str | None = None
    """Whoever holds it may read the log, once."""


@dataclass(eq=False, kw_only=True)
class ActionsRun(Thing):
    """One run of GitHub Actions: what started it, on what, and its parts of every attempt."""

    repository: Repository
    suite: CheckSuite
    name: str
    number: int
    event: str
    actor: Account
    head_repository: Repository
    """Where the commit comes from that it ran on: a fork, perhaps."""
    attempt: int = 1
    parts: dict[int, RunPart] = field(default_factory=dict)

    prefix = "WFR"

    @property
    def latest(self) -> list[RunPart]:
        """Return the parts as they stand after the last attempt, by name."""
        return list({each.check.name: each for each in self.parts.values()}.values())


@dataclass(eq=False, kw_only=True)
class CommitStatus(Thing):
    """The older, shorter kind of verdict on a commit."""

    sha: str
    state: Literal["error", "failure", "pending", "success"]
    label: str
    description: str | None
    target_url: str | None
    creator: Account

    prefix = "SC"
