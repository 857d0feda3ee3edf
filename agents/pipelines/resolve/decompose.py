"""Stage decompose: plan the change as one to five steps, each a commit of its own."""

from __future__ import annotations

from pydantic import Field

from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.resolve.triage.triage import MOST_STEPS, PlanStep
from agents.pipelines.stages.implement import Assignment
from agents.requests import ResolveIssue
from agents.run import StageContext, stage


class StepPlan(Submission, tool="submit_plan"):
    """Deliver the plan."""

    steps: list[PlanStep] = Field(min_length=1, max_length=MOST_STEPS)
    """In the order in which they are made."""

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
async def decompose(run: StageContext) -> StepPlan:
    """Plan the steps."""
    plan = await run.converse(DECOMPOSE)
    run.summarize("1 step" if len(plan.steps) == 1 else f"{len(plan.steps)} steps")
    return plan
