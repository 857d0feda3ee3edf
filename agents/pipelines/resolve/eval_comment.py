"""Stage eval_comment: tell the issue what is missing to judge a change."""

from __future__ import annotations

from pydantic import Field

from agents.loop.conversation import Conversation, beside
from agents.pipelines.resolve.evaluation import EvaluationFindings
from agents.pipelines.resolve.work import SetAsideWork
from agents.pipelines.stages.save_unfinished import unfinished_branch
from agents.requests import ResolveIssue
from agents.run import Outcome, Run, stage
from agents.text import publish
from agents.tools.base import Capability
from agents.tools.submit import Submission

WORDS_LIMIT = 8_000  # characters of the model's text
_COMMENT = """### The change is made, but one thing has to be settled first

{words}

No pull request was opened. The change so far is on [`{branch}`]({url}); the repository's checks
were not run on it.

_Say in a comment what is missing, then write `/bot retry`: the run begins anew and reads it. Or
take the branch and go on from there yourself._"""


class EvalComment(Submission, tool="submit_eval_comment"):
    """Deliver the comment."""

    comment: str = Field(min_length=20)
    """For the people on the issue: what was done, what is missing, why it decides. Markdown."""


EVAL_COMMENT = Conversation(
    name="eval_comment",
    prompt=beside(__file__, "eval_comment.md"),
    output=EvalComment,
    capability=Capability.READ_ONLY,
    resumes="evaluation",
)


@stage
async def eval_comment(
    run: Run, request: ResolveIssue, verdict: EvaluationFindings, aside: SetAsideWork | None
) -> Outcome:
    """Say what is missing."""
    missing = verdict.missing or "\n".join(f"- {flaw}" for flaw in verdict.flaws)
    drafted = await run.converse(EVAL_COMMENT, missing=run.fenced(missing))
    if aside is None:
        branch = await unfinished_branch(run)
        aside = SetAsideWork(branch=branch, url=await run.ports.publisher.push(branch, run.head))
    words = publish(drafted.comment, repository_url=request.repository_url, limit=WORDS_LIMIT)
    comment = _COMMENT.format(words=words, branch=aside.branch, url=aside.url)
    said = await run.ports.publisher.comment("evaluation", comment)
    run.summary = f"asked; the work is on {aside.branch}"
    text = "The change is made, but it cannot be judged right before people say more."
    return Outcome(kind="comment", text=text, url=said)
