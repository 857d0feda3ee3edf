"""Stage revise: mend what the evaluation found; a sub-issue stays one commit."""

from __future__ import annotations

from agents.loop.conversation import Conversation, beside
from agents.pipelines.resolve.evaluation import EvaluationFindings
from agents.pipelines.stages.change_goal import ChangeGoal
from agents.run import Run, stage
from agents.tools.base import Capability
from agents.tools.submit import Submission


class Revised(Submission, tool="submit_revision"):
    """Deliver the revision: your changes to the files are committed as they are now."""

    summary: str
    """Flaw by flaw: what you changed, or why you left it. For the commit's body."""


REVISE = Conversation(
    name="revise",
    prompt=beside(__file__, "revise.md"),
    output=Revised,
    capability=Capability.CHANGE,
    resumes="implement",
)


@stage
async def revise(run: Run, verdict: EvaluationFindings, aim: ChangeGoal) -> Revised:
    """Mend what the evaluation found."""
    flaws = "\n".join(f"- {flaw}" for flaw in verdict.flaws)
    revised = await run.converse(REVISE, flaws=run.fenced(flaws))
    subject = aim.subject or "Mend what the evaluation found"
    onto = aim.since if aim.subject else ""
    commit = await run.commit(subject, revised.summary, onto=onto)
    run.summary = f"changed: {commit[:10]}" if commit else "nothing changed"
    return revised
