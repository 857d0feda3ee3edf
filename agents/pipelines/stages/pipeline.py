"""Sequences of stages that several pipelines use."""

from __future__ import annotations

from agents.pipelines.stages.evaluation import EvaluationFindings, evaluation, revise
from agents.pipelines.stages.implement import ChangeGoal
from agents.pipelines.stages.inspect_weakening import inspect, put_back
from agents.pipelines.stages.known_facts import KnownFacts
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.push_update import PushResult, catch_up, push_update
from agents.pipelines.stages.quality import (
    Baseline,
    CheckComparison,
    VerifiedChange,
    check_quality,
    measure_base,
)
from agents.pipelines.stages.repair_checks import quality_fix
from agents.run import Run


async def mend(run: Run, baseline: Baseline) -> CheckComparison:
    """Run the repository's checks, and have mended what they newly complain about."""
    quality = await run.stage(check_quality, baseline)
    for _ in range(3):
        if not quality.failing:
            break
        await run.stage(quality_fix, quality)
        quality = await run.stage(check_quality, baseline)
    return quality


async def judge(run: Run, aim: ChangeGoal, facts: KnownFacts) -> EvaluationFindings:
    """Have fresh eyes look at the change, and what they find mended once."""
    verdict = await run.stage(evaluation, aim, facts)
    if verdict.mendable:
        await run.stage(revise, verdict, aim)
        verdict = await run.stage(evaluation, aim, facts)
    return verdict


async def examine(run: Run, baseline: Baseline) -> VerifiedChange:
    """Have the checks pass, and no test or check loosened that people want back."""
    quality = await mend(run, baseline)
    inspection = await run.stage(inspect)
    if inspection.denied:
        await run.stage(put_back, inspection)
        quality = await mend(run, baseline)
        inspection = await run.stage(inspect, inspection)
    return VerifiedChange(quality=quality, inspection=inspection)


async def land(run: Run) -> PushResult:
    """Push to the pull request; where people pushed meanwhile, on top of theirs, checked anew."""
    landing = await run.stage(push_update, PushResult())
    for _ in range(3):
        if not landing.moved:
            break
        landing = await run.stage(catch_up, landing)
        if landing.why_not:
            break
        setup = await run.stage(set_up)
        baseline = await run.stage(measure_base, setup)
        quality = await run.stage(check_quality, baseline)
        landing = landing.with_checks(quality)
        if quality.failing:
            break
        landing = await run.stage(push_update, landing)
    return landing
