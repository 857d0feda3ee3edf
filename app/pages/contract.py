"""What programs get: the views of the pages as JSON, field by field.

Fields are added, and none is taken away or renamed within `/openapi.json`'s major version.
Times are unix seconds, money is US dollars.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from agents.ports import Usage
from agents.run import Outcome

Moment = Annotated[float, Field(description="Unix seconds.")]
Usd = Annotated[float, Field(description="US dollars.")]


class RunSummary(BaseModel):
    """A run, and where it stands."""

    id: str
    repository: Annotated[str, Field(description="owner/name")]
    number: Annotated[int | None, Field(description="The issue or pull request.")]
    reference: Annotated[str, Field(description="What it is about, for people.")]
    kind: str
    title: Annotated[str, Field(description="In the words of who wrote it: untrusted.")]
    state: Annotated[
        str,
        Field(description="queued, running, parked, done, failed, cancelled or refused"),
    ]
    stage: str | None
    asked_by: str
    created_at: Moment
    updated_at: Moment
    answers: Annotated[int, Field(description="How often a model answered.")]
    usd: Usd
    outcome: Outcome | None


class StageSummary(BaseModel):
    """One occurrence of a stage, such as `implement/2`."""

    stage: str
    state: str
    started_at: Moment
    seconds: float
    answers: int
    usd: Usd
    tokens: Usage
    cache_read_share: float | None
    summary: str
    error: str


class ApprovalSummary(BaseModel):
    """A call that waits, or waited, for a person."""

    id: str
    stage: str | None
    tool: str
    arguments: Annotated[Any, Field(description="As the model wrote them: untrusted.")]
    damaged: bool
    rule: str | None
    why: str | None
    head: str | None
    state: str
    standing: Annotated[str, Field(description="The state in words.")]
    asked_at: Moment
    expires_at: Moment
    decided_at: Moment | None
    decided_by: str | None
    decided_via: str | None
    reason: str | None
    used_at: Moment | None


class WaitingApproval(ApprovalSummary):
    """A call that waits, and the run that wants it."""

    run: str
    about: Annotated[str, Field(description="owner/name")]


class FixSummary(BaseModel):
    """What became of the alerts that a run was about."""

    state: Annotated[str, Field(description="over, open, closed, merged or fixed")]
    found: list[int]
    open: list[int]
    pull_request: int | None
    merged_at: Moment | None
    told_at: Moment | None
    closed_at: Moment | None


class Saying(BaseModel):
    """What somebody wanted of a run while it was under way."""

    kind: str
    by: str
    at: Moment
    words: Annotated[str, Field(description="Untrusted.")]


class MachineView(BaseModel):
    """How the fleet stands."""

    runs: Annotated[dict[str, int], Field(description="By state: queued, running, parked.")]
    since: Annotated[
        dict[str, Moment | None], Field(description="Since when the first of each waits.")
    ]
    workers: Annotated[
        list[tuple[str, float, int]],
        Field(description="Name, when it was last seen, how many runs; none on SQLite."),
    ]
    sweeps: Annotated[
        dict[str, float], Field(description="When each scheduled look was last through.")
    ]
    missed: Annotated[
        dict[str, int],
        Field(description="Deliveries that never arrived: asked for again, and given up."),
    ]


class DiskView(BaseModel):
    """Room for the data of the worker that answers, in bytes."""

    free: int
    total: int
    reserve: Annotated[int, Field(description="Below this, no command starts.")]


class NowView(BaseModel):
    """What waits, what is under way, what has ended."""

    waiting: list[WaitingApproval]
    live: list[RunSummary]
    ended: list[RunSummary]
    machine: Annotated[MachineView | None, Field(description="For operators and their tokens.")]
    disk: Annotated[DiskView | None, Field(description="For operators and their tokens.")]
    spent_today: Annotated[Usd | None, Field(description="For operators and their tokens.")]


class UsedRule(BaseModel):
    """How often one rule of the gate decided in a run."""

    decision: Annotated[str, Field(description="allow, deny or ask")]
    rule: Annotated[str, Field(description="default: no rule objected")]
    words: str
    calls: int
    stages: list[str]


class RunView(RunSummary):
    """One run with its stages."""

    stages: list[StageSummary]
    approvals: list[ApprovalSummary]
    rules: list[UsedRule]
    heard_outsiders: Annotated[
        bool, Field(description="It has read what people without access wrote.")
    ]
    worker: Annotated[str, Field(description="That it was begun on last; for operators.")]
    alerts: FixSummary | None
    said: list[Saying]
    under_way: bool


class DiffView(BaseModel):
    """What a turn changed in the files."""

    text: str | None
    missing: Annotated[str | None, Field(description="Why there is no text.")]


class TurnView(BaseModel):
    """One turn of a conversation."""

    session: str
    number: int
    stage: str
    kind: Annotated[str, Field(description="head, prompt, answer or results")]
    at: Moment
    seconds: float
    usd: Usd
    tokens: Usage | None
    content: Annotated[
        list[dict[str, Any]] | None,
        Field(description="Untrusted. Long texts are cut; null: the record is damaged."),
    ]
    tree: str | None
    diff: DiffView | None


class StageView(RunSummary):
    """Turns of one stage, the newest or those up to `until`."""

    name: str
    first: Annotated[int, Field(description="How many turns come before these.")]
    number: Annotated[int, Field(description="How many turns the stage has in all.")]
    turns: list[TurnView]
    came_to: Annotated[
        dict[str, Any] | None,
        Field(description="Its output, and the commit that it left. Untrusted, and bounded."),
    ]


class ApprovalView(ApprovalSummary):
    """One call with all that a yes would let run."""

    run: str
    repository: str
    number: int | None
    call: Annotated[str, Field(description="The whole call, every hidden character escaped.")]
    digest: Annotated[str, Field(description="What whoever approves types.")]


class FixOfRun(BaseModel):
    """What became of the alerts of one package, by the run that looked at them."""

    state: str
    found: list[int]
    open: list[int]
    pull_request: int | None
    run: str
    about: str
    repository: str
    severity: Annotated[str | None, Field(description="critical, high, medium or low")]
    at: Moment
    override_until: Moment | None


class PolicyKey(BaseModel):
    """One key of the policy in force."""

    name: str
    value: Annotated[str, Field(description="As JSON; long ones are cut.")]
    origin: Annotated[
        str, Field(alias="from", description="`default`, or the repository whose file says it.")
    ]


class PolicyInForce(BaseModel):
    """What a repository's policy says now."""

    file: Annotated[str | None, Field(description="The repository whose file it is.")]
    url: str | None
    faults: Annotated[list[str], Field(description="With any, nothing is done there.")]
    keys: list[PolicyKey]


class RepositoryView(BaseModel):
    """What the runs of a repository came to."""

    repository: str
    number: Annotated[int, Field(description="The newest runs that are counted here.")]
    ended: int
    opened: Annotated[int, Field(description="Runs that opened a pull request.")]
    merged: Annotated[int, Field(description="Pull requests that were merged, so far as known.")]
    closed: Annotated[int, Field(description="Those that were closed unmerged.")]
    merge_rate: Annotated[float | None, Field(description="From 0 to 1.")]
    per_pull: Usd | None
    minutes: Annotated[float | None, Field(description="Median from label to pull request.")]
    spent: Usd
    days: int
    runs: list[RunSummary]
    alerts: list[FixOfRun]
    policy: Annotated[PolicyInForce | None, Field(description="null: nobody can say now.")]


class AlertsView(BaseModel):
    """Vulnerable dependencies of all repositories, what was looked at last first."""

    fixes: list[FixOfRun]
    counts: dict[str, int]


class DayOfRepository(BaseModel):
    """What a repository's runs cost on one day (UTC)."""

    day: str
    repository: str
    usd: Usd
    answers: int


class StageCost(BaseModel):
    """What one stage cost, in all runs."""

    stage: str
    usd: Usd
    answers: int


class ModelCost(BaseModel):
    """What the answers of one model cost, in all runs."""

    model: Annotated[str, Field(description="Empty: said before this was kept.")]
    usd: Usd
    answers: int


class DearRun(BaseModel):
    """One of the runs that cost most."""

    id: str
    repository: str
    number: int
    state: str
    usd: Usd


class SpendView(BaseModel):
    """What answers of models cost."""

    days: list[DayOfRepository]
    stages: list[StageCost]
    models: list[ModelCost]
    dearest: list[DearRun]
    forecast: Annotated[
        Usd | None, Field(description="30 days at the pace of the last full days; null: no day.")
    ]
    pace_days: Annotated[int, Field(description="How many full days that pace is taken from.")]
    limit: Annotated[Usd, Field(description="What a repository may spend a day.")]
    number: Annotated[int, Field(description="How many days are told.")]


class AuditView(BaseModel):
    """What was done with privilege, the newest first."""

    entries: Annotated[list[dict[str, Any]], Field(description="As `fettle audit --json`.")]
    older: Annotated[int | None, Field(description="Give this as `before` for older ones.")]


class Trajectory(BaseModel, extra="allow"):
    """A run in the Agent Trajectory Interchange Format."""

    schema_version: str
    session_id: str
    steps: list[dict[str, Any]]


class PageRefusal(BaseModel):
    """Why there is nothing, and what to do."""

    title: str
    text: str


VIEWS: dict[str, type[BaseModel]] = {
    "now": NowView,
    "run": RunView,
    "stage": StageView,
    "approval": ApprovalView,
    "repository": RepositoryView,
    "alerts": AlertsView,
    "spend": SpendView,
    "audit": AuditView,
    "refused": PageRefusal,
}
"""By the name of the page's template."""
