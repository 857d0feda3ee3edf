"""The address pipeline (step 5): reviews become pushed commits and answered threads."""

from __future__ import annotations

from agents.pipelines.address.analyze_feedback import ANALYZE_FEEDBACK, analyze_feedback
from agents.pipelines.address.answer_threads import answer_threads
from agents.pipelines.address.collect import collect
from agents.pipelines.address.craft_update import CRAFT_UPDATE, craft_update
from agents.pipelines.address.fall_back import fall_back, word_by_code
from agents.pipelines.address.implement import IMPLEMENT, implement
from agents.pipelines.address.keep_back import keep_back
from agents.pipelines.address.no_action_comment import no_action_comment, nothing_new
from agents.pipelines.address.suggestions.apply_suggestions import apply_suggestions
from agents.pipelines.address.suggestions.suggest_changes import suggest_changes
from agents.pipelines.address.work import FeedbackWork
from agents.pipelines.stages.checkout_pull_request import check_out
from agents.pipelines.stages.evaluation import EVALUATION, REVISE
from agents.pipelines.stages.implement import StepResult
from agents.pipelines.stages.inspect_weakening import PUT_BACK, inspect, put_back
from agents.pipelines.stages.known_facts import KnownFacts
from agents.pipelines.stages.measurement import Measurement
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.pipeline import judge, land, measure, mend
from agents.pipelines.stages.push_update import PushResult, look_again
from agents.pipelines.stages.quality import (
    SECOND_LOOK,
    Baseline,
    VerifiedChange,
    check_quality,
    measure_base,
)
from agents.pipelines.stages.repair_checks import QUALITY_FIX
from agents.ports import SetupResult
from agents.requests import AddressReview
from agents.run import Outcome, PartResult, Run

CONVERSATIONS = (
    *(SECOND_LOOK, ANALYZE_FEEDBACK, IMPLEMENT, EVALUATION, REVISE),
    *(QUALITY_FIX, PUT_BACK, CRAFT_UPDATE),
)


async def address(run: Run, request: AddressReview) -> Outcome:
    """Do what reviewers ask for, and answer each of their threads."""
    pull = await run.stage(check_out)
    feedback = await run.stage(collect)
    if feedback.nothing:
        return await run.stage(nothing_new, request, feedback)
    setup = await run.stage(set_up)
    applied = await run.stage(apply_suggestions, feedback)
    before = run.head
    work = FeedbackWork(pull=pull, feedback=feedback, applied=applied)
    sorted_ = await run.attempt(sort, work, setup)
    if sorted_.result is None:
        sorted_.raise_unless(work.spared)
        return await salvage(run, work, setup, before, sorted_)
    work = sorted_.result
    if run.unchanged and not work.analysis.actionable:
        return await run.stage(no_action_comment, work)
    changed = await run.attempt(change, work, setup, before)
    if changed.result is None:
        changed.raise_unless(work.spared)
        return await salvage(run, work, setup, before, changed)
    return await deliver(run, changed.result)


async def sort(run: Run, work: FeedbackWork, setup: SetupResult) -> FeedbackWork:
    """Sort what reviewers said."""
    analysis = await run.stage(analyze_feedback, work.pull, work.feedback, work.applied, setup)
    return work.with_analysis(analysis)


async def change(run: Run, work: FeedbackWork, setup: SetupResult, before: str) -> FeedbackWork:
    """Make the changes, and see that nothing is worse than it was."""
    baseline: Baseline | None = None
    if work.analysis.measured_first:
        baseline = await run.stage(measure_base, setup)
    made: StepResult | None = None
    if work.analysis.actionable:
        made = await run.stage(implement, work, setup, (), baseline)
        if run.unchanged:  # no check would say anything new
            return await word(run, work, before)
    if baseline is None:
        baseline = await run.stage(measure_base, setup)
    if not made:
        quality = await run.stage(check_quality, baseline)
        if not quality.failing:
            inspection = await run.stage(inspect, quality.lost)
            return work.with_verification(VerifiedChange(quality=quality, inspection=inspection))
        made = await run.stage(implement, work, setup, quality.failing, baseline)
    work = await verify(run, work, baseline, before)
    return await word(run, work, before)


async def verify(run: Run, work: FeedbackWork, baseline: Baseline, before: str) -> FeedbackWork:
    """Have fresh eyes look at the changes, and see that nothing is worse than it was."""
    aim = work.analysis.aim(before, run.request.reference)
    measured: Measurement | None = None
    if work.analysis.judged and run.head != before:
        judged = await judge(run, aim, KnownFacts(baseline=baseline))
        work = work.with_findings(judged.verdict)
        measured = judged.measured
    measured = await measure(run, baseline, aim, (), measured)
    quality = measured.quality
    inspection = await run.stage(inspect, quality.lost)
    if inspection.denied:
        await run.stage(put_back, inspection)
        quality = await mend(run, baseline)
        inspection = await run.stage(inspect, quality.lost, inspection)
    return work.with_verification(VerifiedChange(quality=quality, inspection=inspection))


async def word(run: Run, work: FeedbackWork, before: str) -> FeedbackWork:
    """Have the answers written; what was changed is not lost where the model fails at that."""
    worded = await run.attempt(craft, work, before)
    if worded.result is not None:
        return worded.result
    crafted = await run.stage(word_by_code, work, before, worded.why)
    return work.with_wording(crafted)


async def craft(run: Run, work: FeedbackWork, before: str) -> FeedbackWork:
    """Have the engineer write the answers."""
    crafted = await run.stage(craft_update, work, before)
    return work.with_wording(crafted)


async def salvage(
    run: Run, work: FeedbackWork, setup: SetupResult, before: str, failed: PartResult[FeedbackWork]
) -> Outcome:
    """Let out what needs no model, unless something is worse with it: then fail as it failed.

    `before`: the commit before the engineer's own ones.
    """
    work = await run.stage(fall_back, work, before, failed.stage, failed.why)
    if not run.unchanged:
        baseline = await run.stage(measure_base, setup)
        quality = await run.stage(check_quality, baseline)
        inspection = await run.stage(inspect, quality.lost)
        work = work.with_verification(VerifiedChange(quality=quality, inspection=inspection))
        failed.raise_unless(work.acceptable)
    return await deliver(run, work)


async def deliver(run: Run, work: FeedbackWork) -> Outcome:
    """Let the changes out, then answer; what must not be pushed is kept back."""
    if run.unchanged:
        return await run.stage(answer_threads, work, PushResult())
    if not work.acceptable:
        return await run.stage(keep_back, work)
    if work.pull.why_not:
        stood = await run.stage(look_again)
        if stood.why_not:
            return await run.stage(keep_back, work, stood)
        return await run.stage(suggest_changes, work)
    landing = await land(run)
    if not landing.pushed:
        return await run.stage(keep_back, work, landing)
    return await run.stage(answer_threads, work, landing)
