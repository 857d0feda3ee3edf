"""The end of a resolve run: the change is measured, and people get to see it."""

from __future__ import annotations

from agents.pipelines.resolve.pull_request.craft_pr import craft_draft_pr, craft_pr
from agents.pipelines.resolve.pull_request.publish import publish
from agents.pipelines.resolve.work import MeasuredChange, ResolveWork
from agents.pipelines.stages.quality import Baseline
from agents.pipelines.stages.pipeline import examine
from agents.pipelines.stages.regression_proof import prove, prove_again
from agents.pipelines.stages.repair_checks import quality_fix
from agents.requests import ResolveIssue
from agents.run import Outcome, Run


async def open_pull_request(
    run: Run, request: ResolveIssue, baseline: Baseline, work: ResolveWork
) -> Outcome:
    """Check the change, and let people see it."""
    checked = await verify(run, baseline, work)
    if checked.ready and work.whole:
        text = await run.stage(craft_pr, checked, work)
    else:
        text = await run.stage(craft_draft_pr, checked, work)
    return await run.stage(publish, request, text, checked, work)


async def verify(run: Run, baseline: Baseline, work: ResolveWork) -> MeasuredChange:
    """Check the change: a test that shows the bug, the repository's checks, what it loosens."""
    made = work.all_made
    proof = await run.stage(prove, work.finding.kind, made)
    if proof.mendable:
        shown = await run.stage(prove_again, proof)
        made = (*made, shown)
    verified = await examine(run, baseline)
    if proof.commit != run.head:
        proof = await run.stage(prove, work.finding.kind, made)
    if proof.head and proof.failing and not proof.wanted:
        await run.stage(quality_fix, verified.quality, proof.head)
        verified = await examine(run, baseline)
        proof = await run.stage(prove, work.finding.kind, made)
    return MeasuredChange(quality=verified.quality, proof=proof, inspection=verified.inspection)
