"""Step 6: answer: tell people on the issue what came of it when there is no pull request."""

from __future__ import annotations

from agents.pipelines.resolve.triage import Triage
from agents.run import Outcome, Run, stage
from agents.text import publish

_HEADINGS = {
    "ask": "Some questions first",
    "propose": "There is more than one way to do this",
    "decline": "I would not make this change",
    "decision": "This needs a decision before it needs code",
}
_NEXT = {
    "ask": "Answer here, then set the label again and I will go on with your answers.",
    "propose": "Say here which way to go, then set the label again.",
    "decline": "The issue stays open: closing it is up to you. If you see it differently, say why"
    " here and set the label again.",
    "decision": "Once it is decided, write the decision here and set the label again.",
}
_OUTCOMES = {
    "ask": "Asked the author some questions.",
    "propose": "Proposed ways to do it.",
    "decline": "Explained why the change should not be made.",
    "decision": "Explained what has to be decided first.",
}
_ANSWER = """### {heading}

{detail}

**Why:** {reasoning}

_{next}_"""
_NOTHING = """### I found nothing to change

I took this for something to change in the code, but making the steps changed no file. What I
understood:

{understood}

_If I misunderstood, say here what should be different afterwards and set the label again._"""


@stage
async def answer(run: Run, finding: Triage) -> Outcome:
    """Answer on the issue."""
    body = _ANSWER.format(
        heading=_HEADINGS[finding.decision],
        detail=publish(finding.detail),
        reasoning=publish(finding.reasoning),
        next=_NEXT[finding.decision],
    )
    url = await run.ports.publisher.comment("answer", body)
    run.summary = finding.decision
    return Outcome(kind="comment", text=_OUTCOMES[finding.decision], url=url)


@stage
async def nothing_changed(run: Run, finding: Triage) -> Outcome:
    """Say that the work came to no change."""
    body = _NOTHING.format(understood=publish(finding.detail))
    url = await run.ports.publisher.comment("nothing-changed", body)
    run.summary = "no change"
    return Outcome(kind="comment", text="Found nothing to change.", url=url)
