"""The values of a run: its ports, what is recorded of a stage, its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from agents.ports import (
    ActionReleases,
    Alerts,
    Approvals,
    CiChecks,
    FlakyTests,
    GuidanceRecords,
    Issues,
    Journal,
    Json,
    Model,
    Publisher,
    PullRequest,
    Reporter,
    RepositoryReads,
    Reviews,
    RunImage,
    RunRepository,
    SetupMemory,
    SetupProposal,
    Signer,
    Steering,
    Toolsets,
    Web,
)
from agents.requests import Frozen
from agents.text import printable
from agents.tools.gate.grant import PlanGrant

SHORTEST_PAUSE, LONGEST_PAUSE = 60.0, 3600.0
"""Seconds for which a model's server that does not answer is left alone."""
DOUBLINGS = 4  # of the pause, when the server does not say how long


class Outcome(Frozen):
    """How a run ended, for people and for the record."""

    kind: Literal["pull_request", "comment", "refused", "cancelled", "failed", "covered"]
    """`covered`: another run has done it already, so nobody needs to hear of this one."""
    text: str
    """One sentence for people; for a refusal or failure also why and what to do next."""
    rule: str | None = None
    """For a refusal: the id of the rule that decided."""
    url: str | None = None
    pull_request: PullRequest | None = None
    lower: tuple[PullRequest, ...] = ()
    """Pull requests that it stands on, from the bottom up, where the change was divided."""
    report: str = ""
    """All of it in Markdown, where there is more to say than the text and no issue to say it on."""
    details: Json = None
    """The same for programs, as plain values."""
    ready: bool = True
    """For a pull request: whether nothing is left for a person to mend before it is merged."""
    confidence: int | None = None
    """For a pull request: in percent, how sure triage was that it would be merged."""


class RunState(Frozen):
    """Where a run stands: all that its stages change. A replay finds it as it was."""

    trunk: str = ""
    """The newest commit of the default branch: its policy and its instructions hold."""
    base: str = ""
    """What the change is compared with: `trunk`, or where the branch that is worked on left it."""
    start: str = ""
    """Where the run's own commits begin: `base`, or the newest of the branch it goes on with."""
    branch: str = ""
    """The branch of the open pull request that it goes on with; empty: it makes one of its own."""
    head: str = ""
    """The newest commit of the run; equal to `start` while nothing was committed."""
    merging: str = ""
    """The commit of another branch that the first of the run's commits brings in; empty: none."""
    foundation: str = ""
    """The commit whose dependencies the work tree is given; empty: those of `base`."""
    worked: float = 0.0
    """Seconds that the finished stages took. The time between them, and that of a process that
    died, is nobody's work: a run must not use up its budget by waiting."""
    sessions: Mapping[str, str] = Field(default_factory=dict)
    """Session id of the newest conversation by name, like {"implement": "implement/2"}."""
    about: str = ""
    """What the issue is about, like `bug` or `feature`; empty: nobody has said yet."""
    confidence: int | None = None
    """In percent, how sure triage was that the change would be merged."""
    grant: PlanGrant = PlanGrant()
    """What people granted with the plan; one of another run is void."""
    tainted: bool = False
    """Somebody who may not write to the repository has a say: in the request at the start, later
    also through what the tools found."""
    packages: Mapping[str, str] = Field(default_factory=dict)
    """What people said to packages that the change names anew: `approved`, or why not."""
    foreign: bool = False
    """It stands on commits of a fork. They are never pushed to this repository, whose own checks
    would run a stranger's code with its secrets."""
    setup: SetupProposal | None = None
    """What came of a second look at its set-up; None: nobody had to look."""
    image: RunImage | None = None
    """The image that the repository wants its commands run in; None: it names none."""
    signed: Mapping[str, str] = Field(default_factory=dict)
    """Its commits that were made again to be signed: the id of each signed one by the other's."""
    pushed: bool = False
    """What it made stands on the pull request: whoever asked is answered then, come what may."""


class StageRecord(BaseModel):
    """What the engine keeps of a stage: its output, and where the run stands after it."""

    output: Json = None
    summary: str = ""
    standing: RunState = RunState()
    error: str | None = None
    error_kind: str | None = None
    parked: tuple[str, ...] = ()
    """Approvals that the stage waits for; it is done again once they are decided."""
    paused_until: float = 0.0
    """Unix seconds until which the model's server is left alone; then it is done again."""
    toolsets: Json = None
    """What a stage learnt of other servers' tools: the same ones for the whole run."""

    @property
    def waits(self) -> bool:
        """Return whether the stage waits for something, and is done again then."""
        return bool(self.parked or self.paused_until)


class Question(Protocol):
    """Something that was asked on the issue, and what a run has to know to wait for the answer."""

    @property
    def number(self) -> int:
        """Return which question of the run it is, from 1."""
        ...

    @property
    def waits(self) -> bool:
        """Return whether anybody can answer."""
        ...

    @property
    def asked_after(self) -> int:
        """Return the number of the newest steer at that moment: later ones are answers."""
        ...

    @property
    def until(self) -> float:
        """Return when the time for an answer is over, in unix seconds."""
        ...


@dataclass(frozen=True)
class RunPorts:
    """Everything the machine lends to one run."""

    model: Model
    journal: Journal
    source: RunRepository
    publisher: Publisher
    reporter: Reporter
    approvals: Approvals | None = None
    """None: nobody can be asked, so what needs a person's yes is refused."""
    web: Web | None = None
    forge: RepositoryReads | None = None
    toolsets: Toolsets | None = None
    tracker: Issues | None = None
    """None: there is no issue on GitHub, so nobody to ask anything."""
    steering: Steering | None = None
    """None: nobody can say anything to the run."""
    reviewing: Reviews | None = None
    """None: the run is not about a pull request."""
    checking: CiChecks | None = None
    """None: there is no GitHub whose checks could be read."""
    alerts: Alerts | None = None
    """None: there is no GitHub whose alerts could be read."""
    actions: ActionReleases | None = None
    """None: there is no GitHub where releases of actions could be read."""
    signer: Signer | None = None
    """None: there is nobody who could sign commits."""
    flaky_tests: FlakyTests | None = None
    """None: nobody remembers which tests fail now and then."""
    guidance: GuidanceRecords | None = None
    """None: the run proposes nothing of what people said."""
    setups: SetupMemory | None = None
    """None: nobody remembers what set the repository up."""


def choose_pause(waits: int, asked: float | None) -> float:
    """Return for how many seconds a model's server is left alone that does not answer.

    `waits`: how often the stage has waited for it; `asked`: the seconds that the server itself
    named, None where it named none.
    """
    pause = asked or SHORTEST_PAUSE * 2 ** min(waits, DOUBLINGS)
    return min(max(pause, SHORTEST_PAUSE), LONGEST_PAUSE)


def describe_pause(until: float, why: str) -> str:
    """Return what a run waits for that leaves the model's server alone, for people."""
    at = datetime.fromtimestamp(until, UTC)
    return f"the model's server, until {at:%H:%M} UTC: {printable(why)}"
