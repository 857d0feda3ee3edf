"""The revert pipeline: take a merged change back by git alone, and check what is left.

Somebody asks for it; or something broke after the merge, and the watch has it looked into.
"""

from __future__ import annotations

from agents.pipelines.revert.publish import publish_reversal, say_why_not
from agents.pipelines.revert.regression import (
    INNOCENT,
    MENDED,
    find_cure,
    leave_alone,
    suspect,
)
from agents.pipelines.revert.take_back import take_back
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.quality import check_quality, measure_base
from agents.requests import RevertChange
from agents.run import Outcome, Run


async def revert(run: Run, request: RevertChange) -> Outcome:
    """Open a pull request that takes back what was merged; no model is asked.

    For the watch: only if something began to fail with the merge, and ends when it is taken back.
    """
    merge, cure = None, None
    if request.via == "watch":
        suspected = await run.stage(suspect, request)
        if suspected.covered:
            return await run.stage(leave_alone, suspected.covered)
        setup = await run.stage(set_up)
        baseline = await run.stage(measure_base, setup)
        merge = await run.stage(check_quality, baseline)
        if not merge.failing:
            return await run.stage(leave_alone, INNOCENT)
    reversal = await run.stage(take_back, request)
    if reversal.why_not:
        return await run.stage(say_why_not, reversal, merge)
    setup = await run.stage(set_up)
    baseline = await run.stage(measure_base, setup)
    quality = await run.stage(check_quality, baseline)
    if merge is not None:
        cure = await run.stage(find_cure, merge, quality)
        if not cure.mended:
            return await run.stage(leave_alone, MENDED)
    return await run.stage(publish_reversal, request, reversal, quality, cure)
