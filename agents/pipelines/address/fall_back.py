"""Stages fall_back, word_by_code: what stays of an address run whose model failed.

Suggestions that code applied and answers that were written are worth having without the rest, and
what an engineer changed is worth having without their words.
"""

from __future__ import annotations

from contextlib import suppress

from agents.errors import RunError
from agents.pipelines.address.work import Crafted, FeedbackWork, PointReply
from agents.pipelines.stages.save_unfinished import commit_what_is_left, keep_on_own_branch
from agents.run import StageContext, stage


@stage
async def fall_back(
    run: StageContext, work: FeedbackWork, before: str, failed: str, why: str
) -> FeedbackWork:
    """Go back to what needs no model.

    `before`: the commit before the engineer's own ones, which are kept on a branch. `failed`: the
    stage's occurrence that the run did not get through.
    """
    run.lets_out()
    with suppress(RunError):  # such as protected files half-way changed: what is committed stays
        await commit_what_is_left(run, failed)
    kept = await keep_on_own_branch(run, then="write `/bot address`") if run.head != before else ""
    run.let_go()
    run.update_state(head=before)
    run.summarize("the model failed: what needs none is done")
    return work.model_copy(update={"failure": f"{why} {kept}".strip()})


@stage
async def word_by_code(run: StageContext, work: FeedbackWork, before: str, why: str) -> Crafted:
    """Say without a model what was changed."""
    made = tuple(commit for commit, _ in await run.ports.source.commits(before, run.head))
    named = ", ".join(commit[:10] for commit in made)

    def word(about: str) -> str:
        wording = work.wording_of(about)
        said = wording.unworded if made else wording.unchanged
        return said.format(commits=named, why=why)

    run.summarize("the model failed to write the answers")
    return Crafted(
        commits=made,
        replies=tuple(
            PointReply(about=point.key, verdict="needs_human", commit=0, reply=word(point.about))
            for point in work.analysis.actionable
        ),
    )
