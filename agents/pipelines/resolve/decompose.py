"""Stages decompose, ask_grant: plan the change as one to five steps, each a commit of its own.

What the plan needs is asked for once, instead of call by call.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from agents.errors import ToolError
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.resolve.triage.triage import MOST_STEPS, TRIAGE, PlanStep, Triage
from agents.pipelines.stages.implement import IMPLEMENT, Assignment
from agents.pipelines.stages.known_facts import KnownFacts
from agents.requests import Frozen, ResolveIssue
from agents.run import StageContext, stage
from agents.text import one_line
from agents.tools.gate.grant import PACKAGE, PlanGrant, is_bounded

RISK = 160  # characters of it in a report
MOST_NEEDS, LONGEST_PATTERN = 8, 200
WHAT, RULE = "grant", "grant/plan"
REASON = (
    "The plan of this run needs what stands under `install` and `change`. Approved, this run may"
    " install these packages from the package indexes, none of their scripts run, and change files"
    " of these protected paths, without asking again; nothing else, and no other run. The pull"
    " request lists what it used. Denied, each such call is asked about by itself."
)


def check_need(need: str) -> str:
    """Return what a plan needs, if it is bounded. Raises ValueError."""
    if need.startswith(("pip:", "npm:")):
        if not PACKAGE.fullmatch(need):
            raise ValueError("is written as `pip:NAME` or `npm:NAME`, without a version")
    elif len(need) > LONGEST_PATTERN or not is_bounded(need):
        raise ValueError("names files or a folder, like `migrations/**`")
    return need


Need = Annotated[str, AfterValidator(check_need)]


class StepPlan(Submission, tool="submit_plan"):
    """Deliver the plan."""

    steps: list[PlanStep] = Field(min_length=1, max_length=MOST_STEPS)
    """In the order in which they are made."""
    needs: list[Need] = Field(default=[], max_length=MOST_NEEDS)
    """New packages, like `pip:attrs`; protected paths."""


class Plan(Frozen):
    """The steps of a change, and on which path they are made."""

    steps: tuple[PlanStep, ...]
    fast: bool = False
    """Whether triage's conversation goes on to make the only step."""
    why_whole: str = ""
    """What speaks against that where it was asked for: untrusted."""
    packages: tuple[str, ...] = ()
    """New ones that people are asked for at once, like `pip:attrs`."""
    paths: tuple[str, ...] = ()
    """Patterns of protected paths that people are asked for at once."""

    @property
    def asks(self) -> bool:
        """Return whether people are to be asked before it is made."""
        return bool(self.packages or self.paths)

    def assignments(self, request: ResolveIssue, risk: str = "") -> list[Assignment]:
        """Return each step as the engineer gets it who makes it; `risk`: what could break."""
        outline = "\n".join(f"{n}. {step.title}" for n, step in enumerate(self.steps, 1))
        return [
            Assignment(
                number=number,
                count=len(self.steps),
                title=step.title,
                brief=step.brief,
                plan=outline,
                source=f"The issue, {request.reference}",
                wish=request.text,
                risk=risk,
                goes_on=self.fast,
            )
            for number, step in enumerate(self.steps, 1)
        ]


DECOMPOSE = Conversation(
    name="decompose",
    prompt=prompt_path(__file__, "decompose.md"),
    output=StepPlan,
    capability=Capability.READ_ONLY,
    resumes="triage",
)


@stage
async def decompose(run: StageContext, finding: Triage, facts: KnownFacts) -> Plan:
    """Plan the steps."""
    if facts.path == "fast" and finding.steps:
        plan = Plan(steps=finding.steps, why_whole=_why_whole(run, finding))
        plan = plan.model_copy(update={"fast": not plan.why_whole})
    else:
        terms = (await run.policy()).pull_requests
        most = terms.max_lines if terms.stack else 0
        planned = await run.converse(DECOMPOSE, most_lines=most)
        why = "triage gave no plan" if facts.path == "fast" else ""
        plan = Plan(
            steps=tuple(planned.steps),
            why_whole=why,
            packages=tuple(each for each in planned.needs if PACKAGE.fullmatch(each)),
            paths=tuple(each for each in planned.needs if not PACKAGE.fullmatch(each)),
        )
    steps = "1 step" if len(plan.steps) == 1 else f"{len(plan.steps)} steps"
    why = f"; the whole path, because {plan.why_whole}" if plan.why_whole else ""
    run.summarize(f"{steps}, on the fast path" if plan.fast else f"{steps}{why}")
    return plan


def _why_whole(run: StageContext, finding: Triage) -> str:
    """Return why the change is made on the whole path though the fast one was asked for."""
    if len(finding.steps) > 1:
        return f"it takes {len(finding.steps)} steps"
    if finding.risk.strip():
        return f"triage names a risk: {one_line(finding.risk, RISK)}"
    if not run.asks_alike(TRIAGE, IMPLEMENT):
        return "triage and implement have models or efforts of their own"
    return ""


class GrantAnswer(Frozen):
    """What people said to what the plan needs."""

    state: str
    """`approved`, `denied`, `void`, or why nobody could be asked."""
    approval: str = ""
    by: str = ""


@stage
async def ask_grant(run: StageContext, plan: Plan) -> GrantAnswer:
    """Ask for what the plan needs."""
    refused = (await run.policy()).approvals.dependencies == "refuse"
    known = await run.find_known_packages()
    wanted = [each.split(":", 1) for each in plan.packages] if not refused else []
    packages = [":".join(each) for each in wanted if not known.holds(each[0], each[1])]
    if not (packages or plan.paths) or run.ports.approvals is None:
        run.summarize("nothing to ask for")
        return GrantAnswer(state="nothing to ask for")
    question = {
        "install": packages,
        "change": list(plan.paths),
        "plan": [f"{step.title}: {step.brief}" for step in plan.steps],
    }
    try:
        said = await run.consent(WHAT, question, rule=RULE, reason=REASON)
    except ToolError as error:  # it cannot be shown whole: each call is asked about by itself
        run.summarize("nobody could be asked")
        return GrantAnswer(state=str(error))
    if said.state == "approved":
        grant = PlanGrant(
            run=run.id,
            packages=tuple(packages),
            paths=plan.paths,
            approval=said.id,
            by=said.decided_by,
        )
        run.update_state(grant=grant)
    run.summarize(f"{said.state} by {said.decided_by}" if said.decided_by else said.state)
    return GrantAnswer(state=said.state, approval=said.id, by=said.decided_by)
