"""Stage decompose: plan the change as one to five steps, each a commit of its own."""

from __future__ import annotations

from pydantic import Field

from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.resolve.triage.triage import MOST_STEPS, TRIAGE, PlanStep, Triage
from agents.pipelines.stages.implement import IMPLEMENT, Assignment
from agents.pipelines.stages.known_facts import KnownFacts
from agents.requests import Frozen, ResolveIssue
from agents.run import StageContext, stage
from agents.text import one_line

RISK = 160  # characters of it in a report


class StepPlan(Submission, tool="submit_plan"):
    """Deliver the plan."""

    steps: list[PlanStep] = Field(min_length=1, max_length=MOST_STEPS)
    """In the order in which they are made."""


class Plan(Frozen):
    """The steps of a change, and on which path they are made."""

    steps: tuple[PlanStep, ...]
    fast: bool = False
    """Whether triage's conversation goes on to make the only step."""
    why_whole: str = ""
    """What speaks against that where it was asked for: untrusted."""

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
        plan = Plan(steps=tuple(planned.steps), why_whole=why)
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
