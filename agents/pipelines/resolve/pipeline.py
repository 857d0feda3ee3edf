"""Step 5: the resolve pipeline: a labelled issue becomes a pull request."""

from __future__ import annotations

from agents.pipelines.resolve.answer import answer, nothing_changed
from agents.pipelines.resolve.craft_pr import (
    CRAFT_DRAFT_PR,
    CRAFT_PR,
    craft_draft_pr,
    craft_pr,
)
from agents.pipelines.resolve.decompose import DECOMPOSE, decompose
from agents.pipelines.resolve.publish import publish
from agents.pipelines.resolve.triage import TRIAGE, triage
from agents.pipelines.shared.docs_review import DOCS_REVIEW, docs_review
from agents.pipelines.shared.implement import IMPLEMENT, Made, implement
from agents.pipelines.shared.prepare import prepare
from agents.pipelines.shared.quality import check_quality, measure_base
from agents.pipelines.shared.quality_fix import QUALITY_FIX, quality_fix
from agents.pipelines.shared.set_up import set_up
from agents.requests import ResolveIssue
from agents.run import Outcome, Run

CONVERSATIONS = (
    TRIAGE,
    DECOMPOSE,
    IMPLEMENT,
    DOCS_REVIEW,
    QUALITY_FIX,
    CRAFT_PR,
    CRAFT_DRAFT_PR,
)


async def resolve(run: Run, request: ResolveIssue) -> Outcome:
    """Turn a labelled issue into a pull request that passes the repository's own checks."""
    await run.stage(prepare)
    setup = await run.stage(set_up)
    finding = await run.stage(triage, request, setup)
    if not finding.actionable:
        return await run.stage(answer, finding)

    plan = await run.stage(decompose)
    baseline = await run.stage(measure_base, setup)
    made: tuple[Made, ...] = ()
    for assignment in plan.assignments(request):
        step = await run.stage(implement, assignment, setup)
        made = (*made, step)
    if run.unchanged:
        return await run.stage(nothing_changed, made)

    await run.stage(docs_review)
    quality = await run.stage(check_quality, baseline)
    for _ in range(3):
        if quality.passed:
            break
        await run.stage(quality_fix, quality)
        quality = await run.stage(check_quality, baseline)

    if quality.passed:
        text = await run.stage(craft_pr, quality, made)
    else:
        text = await run.stage(craft_draft_pr, quality, made)
    return await run.stage(publish, request, finding, text, quality)
