"""Sequences of stages that several pipelines use."""

from __future__ import annotations

from agents.pipelines.stages.evaluation import Judgement, evaluation, revise
from agents.pipelines.stages.implement import ChangeGoal, StepResult
from agents.pipelines.stages.inspect_weakening import inspect, put_back
from agents.pipelines.stages.known_facts import KnownFacts
from agents.pipelines.stages.measurement import Measurement
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.push_update import PushResult, catch_up, push_update
from agents.pipelines.stages.quality import (
    Baseline,
    CheckComparison,
    VerifiedChange,
    check_quality,
    measure_base,
)
from agents.pipelines.stages.regression_proof import prove, prove_again
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


async def judge(
    run: Run, aim: ChangeGoal, facts: KnownFacts, made: tuple[StepResult, ...] = ()
) -> Judgement:
    """Measure the change, have fresh eyes look at it, and what they find mended once."""
    measured: Measurement | None = None
    if facts.baseline.measures_first:
        measured = await measure(run, facts.baseline, aim, made, None)
    verdict = await run.stage(evaluation, aim, facts, measured)
    if verdict.mendable:
        await run.stage(revise, verdict, aim)
        if facts.baseline.measures_first:
            measured = await measure(run, facts.baseline, aim, made, measured)
        verdict = await run.stage(evaluation, aim, facts, measured)
    return Judgement(verdict=verdict, measured=measured)


async def measure(
    run: Run,
    baseline: Baseline,
    aim: ChangeGoal,
    made: tuple[StepResult, ...],
    earlier: Measurement | None,
) -> Measurement:
    """Run the tests of the change without it and with it, and the repository's checks.

    `earlier`: what was measured before, which holds while nothing was committed since.
    """
    if earlier and earlier.commit == run.head:
        return earlier
    if aim.is_part:
        quality = await run.stage(check_quality, baseline)
        return Measurement(quality=quality)
    if not aim.kind:
        quality = await mend(run, baseline)
        return Measurement(quality=quality)
    made = earlier.made if earlier else made
    proof = await run.stage(prove, aim.kind, made)
    if proof.mendable and not earlier:
        shown = await run.stage(prove_again, proof)
        made = (*made, shown)
    quality = await mend(run, baseline)
    if proof.commit != run.head:
        proof = await run.stage(prove, aim.kind, made)
    if proof.head and proof.failing and (baseline.mends_proof or not proof.wanted):
        await run.stage(quality_fix, quality, proof.head)
        quality = await mend(run, baseline)
        proof = await run.stage(prove, aim.kind, made)
    return Measurement(quality=quality, proof=proof, made=made)


async def examine(run: Run, baseline: Baseline) -> VerifiedChange:
    """Have the checks pass, and no test or check loosened that people want back."""
    quality = await mend(run, baseline)
    inspection = await run.stage(inspect, quality.lost)
    if inspection.denied:
        await run.stage(put_back, inspection)
        quality = await mend(run, baseline)
        inspection = await run.stage(inspect, quality.lost, inspection)
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
