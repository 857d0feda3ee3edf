"""Step 6: answer: tell people on the issue what came of it when there is no pull request."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.resolve.triage import Triage
from agents.pipelines.shared.implement import Made
from agents.run import Outcome, Run, stage
from agents.text import publish

_HEADINGS = {
    "ask": "Some questions first",
    "propose": "There is more than one way to do this",
    "decline": "I would not make this change",
    "decision": "This needs a decision before it needs code",
}
_NEXT = {
    "ask": "Put the answers into the issue's text.",
    "propose": "Put the way to go into the issue's text.",
    "decline": "The issue stays open: closing it is up to you. If you see it differently, say why"
    " in the issue's text.",
    "decision": "Once it is decided, put the decision into the issue's text.",
}
_AGAIN = (
    "I read the issue's title and text, not its comments. When they say what you want, take the"
    " label off and put it on again."
)
_OUTCOMES = {
    "ask": "Asked the author some questions.",
    "propose": "Proposed ways to do it.",
    "decline": "Explained why the change should not be made.",
    "decision": "Explained what has to be decided first.",
}
_ANSWER = """### {heading}

{detail}

**Why:**

{reasoning}

_{next}_"""
_NOTHING = """### I found nothing to change

I took this for something to change in the code, but making the change came to no changed file.

{reports}

_If I misunderstood, say in the issue's text what should be different afterwards. {again}_"""

WORDS_LIMIT = 10_000  # characters of each text of the model


@stage
async def answer(run: Run, finding: Triage) -> Outcome:
    """Answer on the issue."""
    body = _ANSWER.format(
        heading=_HEADINGS[finding.decision],
        detail=_safe(run, finding.detail),
        reasoning=_safe(run, finding.reasoning),
        next=f"{_NEXT[finding.decision]} {_AGAIN}",
    )
    url = await run.ports.publisher.comment("answer", body)
    run.summary = finding.decision
    return Outcome(kind="comment", text=_OUTCOMES[finding.decision], url=url)


@stage
async def nothing_changed(run: Run, made: Sequence[Made]) -> Outcome:
    """Say that the work came to no change."""
    reports = "\n\n".join(_safe(run, f"**{step.title}**\n\n{step.summary}") for step in made)
    body = _NOTHING.format(reports=reports, again=_AGAIN)
    url = await run.ports.publisher.comment("nothing-changed", body)
    run.summary = "no change"
    return Outcome(kind="comment", text="Found nothing to change.", url=url)


def _safe(run: Run, text: str) -> str:
    # Each text by itself: what it leaves open must not swallow what follows.
    return publish(text, repository_url=run.request.repository_url, limit=WORDS_LIMIT)
