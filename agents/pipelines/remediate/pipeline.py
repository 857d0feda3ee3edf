"""The remediate pipeline (step 5): alerts about one package become a verified fix."""

from __future__ import annotations

from agents.pipelines.remediate.adapt import ADAPT, adapt
from agents.pipelines.remediate.engineer import ENGINEER, engineer
from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.findings.assess import ASSESS, assess
from agents.pipelines.remediate.findings.scan import scan
from agents.pipelines.remediate.fix import fix, start_over
from agents.pipelines.remediate.ladder import Refusal
from agents.pipelines.remediate.majors.agree import agree
from agents.pipelines.remediate.majors.hand_over import hand_over
from agents.pipelines.remediate.other_pulls import leave_it, look_for_others, take_up
from agents.pipelines.remediate.publish import (
    keep_override,
    nothing_to_do,
    publish,
    report_adopted,
    report_failure,
    report_scan,
    tell_another,
)
from agents.pipelines.remediate.retire import retire
from agents.pipelines.remediate.summarize import SUMMARIZE, summarize
from agents.pipelines.remediate.verify import VERIFY, verify
from agents.pipelines.remediate.work import Work
from agents.pipelines.stages.inspect_weakening import inspect
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.quality import SECOND_LOOK, Baseline, check_quality, measure_base
from agents.requests import RemediateAlert
from agents.run import Outcome, Run

CONVERSATIONS = (SECOND_LOOK, ASSESS, ENGINEER, ADAPT, VERIFY, SUMMARIZE)


async def remediate(run: Run, request: RemediateAlert) -> Outcome:
    """Move one package out of the vulnerable ranges of its open alerts."""
    found = await run.stage(scan, request)
    if found.over:
        return await run.stage(nothing_to_do, found, found.over)
    if request.retire:
        return await do_without(run, request, found)
    if request.assess and found.assess == "never" and found.unclear:  # an older version began it
        found = await run.stage(assess, found)
    if request.dry_run:
        if found.to_assess:
            found = await run.stage(assess, found)
        return await run.stage(report_scan, found)
    return await mend(run, request, found)


async def mend(run: Run, request: RemediateAlert, found: AlertGroup) -> Outcome:
    """Take up what others have made, or make a fix."""
    others = await run.stage(look_for_others, request, found)
    if others.waits:
        return await run.stage(nothing_to_do, found, others.waits)
    if found.by_hand:
        refusal = Refusal(cause="by_hand", reason=found.by_hand)
        return await deliver(run, request, Work(found=found, refusal=refusal))
    setup = await run.stage(set_up)
    if found.wants_assessing:
        found = await run.stage(assess, found)
    baseline = await run.stage(measure_base, setup)
    if others.candidates:
        others = await run.stage(take_up, found, others)
        if others.waits:
            return await run.stage(nothing_to_do, found, others.waits)
        if others.adopted:
            work = await hold(run, request, Work(found=found, bump=others.bump), baseline)
            if work.passed:
                return await run.stage(report_adopted, request, work, others)
            others = await run.stage(leave_it, others)
    work = Work(
        found=found,
        replaces=others.useless,
        why_not=others.why_not,
        earlier=others.earlier,
        elsewhere=others.elsewhere,
        left=others.left,
    )
    work = await converge(run, request, work, baseline)
    return await deliver(run, request, work)


async def do_without(run: Run, request: RemediateAlert, found: AlertGroup) -> Outcome:
    """Take an override out whose day has come, unless something speaks for it still."""
    others = await run.stage(look_for_others, request, found)
    if others.waits:
        return await run.stage(nothing_to_do, found, others.waits)
    setup = await run.stage(set_up)
    work = await run.stage(retire, Work(found=found))
    if work.bump:
        baseline = await run.stage(measure_base, setup)
        work = await run.stage(fix, work)
        setup = await run.stage(set_up)
        quality = await run.stage(check_quality, baseline)
        work = work.with_checks(setup, quality)
        work = await run.stage(verify, request, work)
    if not work.passed:
        return await run.stage(keep_override, work)
    return await deliver(run, request, work)


async def hold(run: Run, request: RemediateAlert, work: Work, baseline: Baseline) -> Work:
    """Hold what was made against the repository's checks, and what code cannot tell."""
    setup = await run.stage(set_up)
    quality = await run.stage(check_quality, baseline)
    work = work.with_checks(setup, quality)
    if work.wants_adapting:
        work = await run.stage(adapt, work, setup)
        if not work.unfollowed:
            quality = await run.stage(check_quality, baseline)
            inspection = await run.stage(inspect, quality.lost)
            work = work.with_inspection(quality, inspection)
    return await run.stage(verify, request, work)


async def converge(run: Run, request: RemediateAlert, work: Work, baseline: Baseline) -> Work:
    """Make a fix and hold it against what can be known, until one stands."""
    for _ in range(request.max_iterations):
        work = await run.stage(fix, work)
        if work.wants_engineer:
            work = await run.stage(engineer, work, baseline.setup)
        if not work.bump:
            break
        work = await hold(run, request, work, baseline)
        if work.passed:
            break
        if work.fails_by_checks_alone:
            return await run.stage(hand_over, work)
        work = await run.stage(start_over, work)
        if work.unfollowed:
            break
    if work.breaks:
        return await make_bare(run, work, baseline)
    return work


async def make_bare(run: Run, work: Work, baseline: Baseline) -> Work:
    """Make the move alone once more, for people to go on with, without what was tried."""
    work = await run.stage(fix, work)
    setup = await run.stage(set_up)
    quality = await run.stage(check_quality, baseline)
    work = work.with_checks(setup, quality)
    return await run.stage(hand_over, work)


async def deliver(run: Run, request: RemediateAlert, work: Work) -> Outcome:
    """Publish what stands, or say why nothing does."""
    if work.is_there:
        return await run.stage(tell_another, request, work)
    if work.is_published and work.bump is not None and work.bump.major:
        work = await run.stage(agree, work)
    if not work.is_published:
        return await run.stage(report_failure, work)
    if not (work.untouched or work.handed_over):
        work = await run.stage(summarize, work)
    return await run.stage(publish, request, work)
