"""The update pipeline (step 5): merge the base branch, and mend what breaks."""

from __future__ import annotations

from agents.pipelines.stages.checkout_pull_request import check_out
from agents.pipelines.stages.inspect_weakening import PUT_BACK, put_back
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.pipeline import land, mend
from agents.pipelines.stages.quality import (
    SECOND_LOOK,
    Baseline,
    VerifiedChange,
    check_quality,
    measure_base,
)
from agents.pipelines.stages.repair_checks import QUALITY_FIX
from agents.pipelines.update.inspect_merge import inspect_merge
from agents.pipelines.update.merge import BaseMerge
from agents.pipelines.update.merge_base import merge_base
from agents.pipelines.update.resolution import IMPLEMENT
from agents.pipelines.update.resolve_conflicts import reconcile, resolve_conflicts
from agents.pipelines.update.tell import keep_back, report, say_why_not
from agents.requests import UpdateBranch
from agents.run import Outcome, Run

CONVERSATIONS = (SECOND_LOOK, IMPLEMENT, QUALITY_FIX, PUT_BACK)


async def update(run: Run, request: UpdateBranch) -> Outcome:
    """Merge the base branch into a pull request, and see that it still works."""
    pull = await run.stage(check_out)
    merge = await run.stage(merge_base, request, pull)
    if merge.nothing_to_do:
        return await run.stage(say_why_not, merge)
    setup = await run.stage(set_up)
    if merge.conflicts:
        merge = await run.stage(resolve_conflicts, merge, setup)
        if merge.nothing_to_do:
            return await run.stage(say_why_not, merge)
        setup = await run.stage(set_up)
    baseline = await run.stage(measure_base, setup)
    return await deliver(run, merge, baseline)


async def deliver(run: Run, merge: BaseMerge, baseline: Baseline) -> Outcome:
    """Mend what the merge broke, and push it; what is worse than both branches is kept back."""
    if merge.conflicts:
        quality = await mend(run, baseline)
    else:
        quality = await run.stage(check_quality, baseline)
        if quality.failing:
            merge = await run.stage(reconcile, merge, quality)
            quality = await mend(run, baseline)
    inspection = await run.stage(inspect_merge, merge, quality.lost)
    if inspection.denied:
        await run.stage(put_back, inspection)
        quality = await mend(run, baseline)
        inspection = await run.stage(inspect_merge, merge, quality.lost, inspection)
    verified = VerifiedChange(quality=quality, inspection=inspection)
    if not verified.acceptable:
        return await run.stage(keep_back, merge, verified)
    landing = await land(run)
    if not landing.pushed:
        return await run.stage(keep_back, merge, verified, landing)
    return await run.stage(report, merge, verified, landing)
