"""Stage docs_review: update the documentation to the change, in a commit of its own."""

from __future__ import annotations

from agents.errors import WORDLESS
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.stages.onboarding import DIFF_LIMIT
from agents.run import StageContext, stage


class DocsReviewed(Submission, tool="submit_docs"):
    """Deliver the review of the documentation."""

    changed: bool
    summary: str
    """What you changed, or why nothing."""


DOCS_REVIEW = Conversation(
    name="docs_review",
    prompt=prompt_path(__file__, "docs_review.md"),
    output=DocsReviewed,
    capability=Capability.CHANGE,
    resumes="implement",
)


@stage
async def docs_review(run: StageContext, done: str = "") -> DocsReviewed:
    """Review the documentation.

    `done`: what whoever made the change did about it in the same step; empty: that is still to do.
    """
    if done.strip():
        run.summarize("with the change")
        return DocsReviewed(changed=False, summary=done)
    try:
        reviewed = await run.converse(DOCS_REVIEW, diff=await whole_change(run))
    except WORDLESS as error:  # the change stands without it; half a page would not
        run.let_go()
        run.summarize("not reviewed")
        return DocsReviewed(changed=False, summary=f"The documentation was not reviewed. {error}")
    commit = await run.commit("Update documentation", reviewed.summary)
    run.summarize(f"updated: {commit[:10]}" if commit else "nothing to change")
    return reviewed


async def whole_change(run: StageContext) -> str:
    """Return the diff of the run against its base, fenced and bounded."""
    tree = await run.tree()
    return run.fence(await tree.diff(run.base, run.head), limit=DIFF_LIMIT)
