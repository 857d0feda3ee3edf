"""The revert pipeline: take a merged change back by git alone, and check what is left."""

from __future__ import annotations

from agents.pipelines.revert.publish import publish_reversal, say_why_not
from agents.pipelines.revert.take_back import take_back
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.quality import check_quality, measure_base
from agents.requests import RevertChange
from agents.run import Outcome, Run


async def revert(run: Run, request: RevertChange) -> Outcome:
    """Open a pull request that takes back what was merged; no model is asked."""
    reversal = await run.stage(take_back, request)
    if reversal.why_not:
        return await run.stage(say_why_not, reversal)
    setup = await run.stage(set_up)
    baseline = await run.stage(measure_base, setup)
    quality = await run.stage(check_quality, baseline)
    return await run.stage(publish_reversal, request, reversal, quality)
