"""Stages infeasible_comment, eval_comment: tell the issue what came of work without a change."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from agents.errors import WORDLESS
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.resolve.work import SetAsideWork
from agents.pipelines.stages.evaluation import EvaluationFindings
from agents.pipelines.stages.implement import StepResult
from agents.pipelines.stages.save_unfinished import unfinished_branch
from agents.requests import ResolveIssue
from agents.run import Outcome, StageContext, stage
from agents.text import publish_in_child

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
    """Or why nothing needs to change."""
    tried: str = Field(min_length=10)
    """And what it showed."""
    needed: str = Field(min_length=10)
    """What has to be different so that it can be done."""


INFEASIBLE_COMMENT = Conversation(
    name="infeasible_comment",
    prompt=prompt_path(__file__, "infeasible_comment.md"),
    output=Infeasible,
    capability=Capability.READ_ONLY,
    resumes="implement",
    tier="fast",
    handed_over=True,
    effort="low",
)


@stage
async def infeasible_comment(run: StageContext, made: Sequence[StepResult]) -> Outcome:
    """Say why nothing changed."""
    reports = "\n\n".join(each.report for each in made)
    try:
        drafted = await run.converse(INFEASIBLE_COMMENT, made=run.fence(reports))
    except WORDLESS as error:  # what was tried is known without it
        drafted = Infeasible(
            obstacle=f"The steps ended without a change to any file. {error}",
            tried=reports or "No step came to a report.",
            needed="What a change would have to do that the steps above did not find.",
        )
    texts = {
        # Each text by itself: what it leaves open must not swallow what follows.
        name: await publish_in_child(
            text, repository_url=run.request.repository_url, limit=WORDS_LIMIT
        )
        for name, text in drafted.model_dump().items()
    }
    again = _AGAIN if run.request.number else _AGAIN_LOCALLY
    url = await run.ports.publisher.comment("infeasible", _COMMENT.format(**texts, again=again))
    run.summarize("no change")
    return Outcome(kind="comment", text="Found nothing to change; the issue says why.", url=url)


REASONS_LIMIT = 8_000  # characters of the model's text
_UNSETTLED = """### The change is made, but one thing has to be settled first

{words}

No pull request was opened. The change so far is on [`{branch}`]({url}); the repository's checks
were not run on it.

_Say in a comment what is missing, then write `/bot retry`: the run begins anew and reads it. Or
take the branch and go on from there yourself._"""


class EvalComment(Submission, tool="submit_eval_comment"):
    """Deliver the comment."""

    comment: str = Field(min_length=20)
    """What was done, what is missing, why it decides. Markdown."""


EVAL_COMMENT = Conversation(
    name="eval_comment",
    prompt=prompt_path(__file__, "eval_comment.md"),
    output=EvalComment,
    capability=Capability.READ_ONLY,
    resumes="evaluation",
    tier="fast",
    handed_over=True,
    effort="low",
)


@stage
async def eval_comment(
    run: StageContext,
    request: ResolveIssue,
    verdict: EvaluationFindings,
    aside: SetAsideWork | None,
) -> Outcome:
    """Say what is missing."""
    missing = verdict.missing or "\n".join(f"- {flaw}" for flaw in verdict.flaws)
    try:
        drafted = await run.converse(EVAL_COMMENT, missing=run.fence(missing))
    except WORDLESS:  # what the evaluation found missing is known without it
        drafted = EvalComment(comment=f"The evaluation finds this missing:\n\n{missing}")
    if aside is None:
        branch = await unfinished_branch(run)
        aside = SetAsideWork(branch=branch, url=await run.push(branch))
    words = await publish_in_child(
        drafted.comment, repository_url=request.repository_url, limit=REASONS_LIMIT
    )
    comment = _UNSETTLED.format(words=words, branch=aside.branch, url=aside.url)
    said = await run.ports.publisher.comment("evaluation", comment)
    run.summarize(f"asked; the work is on {aside.branch}")
    text = "The change is made, but it cannot be judged right before people say more."
    return Outcome(kind="comment", text=text, url=said)
