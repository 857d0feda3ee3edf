"""Stage infeasible_comment: tell the issue why the work came to no change."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from agents.loop.conversation import Conversation, beside
from agents.pipelines.stages.implement import StepResult
from agents.run import Outcome, Run, stage
from agents.text import publish
from agents.tools.base import Capability
from agents.tools.submit import Submission

WORDS_LIMIT = 10_000  # characters of each text of the model
_COMMENT = """### I found nothing to change

{obstacle}

**What I tried:**

{tried}

**What would help:**

{needed}

_Nothing was changed. {again}_"""
_AGAIN = "Put what I misunderstood into the issue's text, then write `/bot retry`."
_AGAIN_LOCALLY = "Say in the wish what I misunderstood, and start again."


class Infeasible(Submission, tool="submit_infeasible"):
    """Deliver the comment on work that came to no change."""

    obstacle: str = Field(min_length=20)
    """What stood in the way, or why nothing needs to change; the point first."""
    tried: str = Field(min_length=10)
    """What you tried, and what it showed."""
    needed: str = Field(min_length=10)
    """What has to be known, decided or different so that it can be done; if nothing, why."""


INFEASIBLE_COMMENT = Conversation(
    name="infeasible_comment",
    prompt=beside(__file__, "infeasible_comment.md"),
    output=Infeasible,
    capability=Capability.READ_ONLY,
    resumes="implement",
)


@stage
async def infeasible_comment(run: Run, made: Sequence[StepResult]) -> Outcome:
    """Say why nothing changed."""
    reports = "\n\n".join(each.report for each in made)
    drafted = await run.converse(INFEASIBLE_COMMENT, made=run.fenced(reports))
    texts = {
        # Each text by itself: what it leaves open must not swallow what follows.
        name: publish(text, repository_url=run.request.repository_url, limit=WORDS_LIMIT)
        for name, text in drafted.model_dump().items()
    }
    again = _AGAIN if run.request.number else _AGAIN_LOCALLY
    url = await run.ports.publisher.comment("infeasible", _COMMENT.format(**texts, again=again))
    run.summary = "no change"
    return Outcome(kind="comment", text="Found nothing to change; the issue says why.", url=url)
