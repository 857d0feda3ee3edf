"""The checks pipeline (step 5): failures on Fettle's own push are attributed and mended."""

from __future__ import annotations

from agents.pipelines.checks.consider import consider
from agents.pipelines.checks.failures import Failures
from agents.pipelines.checks.fix import IMPLEMENT, fix
from agents.pipelines.checks.sort_checks import sort_checks
from agents.pipelines.checks.stack import stack
from agents.pipelines.checks.tell import keep_back, leave, report
from agents.pipelines.stages.checkout_pull_request import check_out
from agents.pipelines.stages.inspect_weakening import PUT_BACK
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.pipeline import examine, land
from agents.pipelines.stages.quality import SECOND_LOOK, measure_base
from agents.pipelines.stages.repair_checks import QUALITY_FIX
from agents.ports import SetupResult
from agents.requests import FixChecks
from agents.run import Outcome, Run

CONVERSATIONS = (SECOND_LOOK, IMPLEMENT, QUALITY_FIX, PUT_BACK)

MOVED = "Somebody pushed before the work began."


async def fix_checks(run: Run, request: FixChecks) -> Outcome:
    """Mend what other programs' checks find wrong with what Fettle pushed."""
    due = await run.stage(consider, request)
    if due.nothing_to_do:
        return await run.stage(leave, request, due)
    failures = await run.stage(sort_checks, request)
    if failures.covered:
        return Outcome(kind="covered", text=failures.covered)
    if not failures.ours:
        return await run.stage(report, failures)
    pull = await run.stage(check_out)
    if pull.head != request.head:
        return Outcome(kind="covered", text=MOVED)
    setup = await run.stage(set_up)
    failures = await run.stage(fix, failures, setup)
    if run.unchanged:
        return await run.stage(report, failures)
    return await deliver(run, failures, setup)


async def deliver(run: Run, failures: Failures, setup: SetupResult) -> Outcome:
    """Check the change here, and push it; what is worse than before is kept back.

    Where another bot's branch does not take it, it becomes a pull request on top.
    """
    baseline = await run.stage(measure_base, setup)
    verified = await examine(run, baseline)
    if not verified.acceptable:
        return await run.stage(keep_back, failures, verified)
    landing = await land(run)
    if landing.refused and failures.updater:
        return await run.stage(stack, failures, verified, landing)
    if not landing.pushed:
        return await run.stage(keep_back, failures, verified, landing)
    return await run.stage(report, failures, verified, landing)
