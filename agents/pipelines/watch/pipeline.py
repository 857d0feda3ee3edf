"""The watch pipeline: look into a merge after which something broke; no model is asked."""

from __future__ import annotations

from agents.pipelines.revert.publish import publish_reversal, say_why_not
from agents.pipelines.revert.take_back import take_back
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.quality import check_quality, measure_base
from agents.pipelines.watch.regression import (
    INNOCENT,
    MENDED,
    find_cure,
    find_left,
    leave_alone,
    suspect,
)
from agents.requests import SuspectMerge
from agents.run import Outcome, Run


async def look_into(run: Run, request: SuspectMerge) -> Outcome:
    """Take a merge back by a pull request, if something began to fail with it and ends without."""
    suspected = await run.stage(suspect, request)
    if suspected.covered:
        return await run.stage(leave_alone, suspected.covered)
    setup = await run.stage(set_up)
    baseline = await run.stage(measure_base, setup)
    merge = await run.stage(check_quality, baseline)
    if not merge.failing:
        return await run.stage(leave_alone, INNOCENT)
    reversal = await run.stage(take_back, request)
    setup = await run.stage(set_up)
    baseline = await run.stage(measure_base, setup)
    left = await run.stage(find_left, merge, baseline)
    if not left.failing or (reversal.why_not and not reversal.contradicts):
        return await run.stage(leave_alone, MENDED)
    if reversal.contradicts:
        return await run.stage(say_why_not, reversal, left.failing)
    quality = await run.stage(check_quality, baseline)
    cure = await run.stage(find_cure, merge, quality)
    if not cure.mended:
        return await run.stage(leave_alone, MENDED)
    return await run.stage(publish_reversal, request, reversal, quality, cure)
