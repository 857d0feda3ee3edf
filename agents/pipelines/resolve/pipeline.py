"""The resolve pipeline (step 5): a labelled issue becomes a pull request."""

from __future__ import annotations

from agents.pipelines.resolve.decision.craft_decision_pr import CRAFT_DECISION_PR, craft_decision_pr
from agents.pipelines.resolve.decision.record_decision import RECORD_DECISION, record_decision
from agents.pipelines.resolve.decompose import DECOMPOSE, ask_grant, decompose
from agents.pipelines.resolve.layers import check_layer, plan_layers
from agents.pipelines.resolve.outcome_comments import (
    EVAL_COMMENT,
    INFEASIBLE_COMMENT,
    eval_comment,
    infeasible_comment,
)
from agents.pipelines.resolve.pull_request import (
    CRAFT_DRAFT_PR,
    CRAFT_PR,
    craft_draft_pr,
    craft_pr,
    publish,
)
from agents.pipelines.resolve.sub_issues.division import divide, held_up, set_aside
from agents.pipelines.resolve.sub_issues.order import Order
from agents.pipelines.resolve.triage.clarification import (
    COMMENT_DRAFT,
    TRIAGE_AGAIN,
    comment_draft,
    triage_again,
    unanswered,
)
from agents.pipelines.resolve.triage.gather import gather
from agents.pipelines.resolve.triage.triage import TRIAGE, Triage, triage
from agents.pipelines.resolve.work import MeasuredChange, ResolveWork, SetAsideWork, SubIssueWork
from agents.pipelines.stages.docs_review import DOCS_REVIEW, docs_review
from agents.pipelines.stages.evaluation import EVALUATION, REVISE
from agents.pipelines.stages.implement import (
    IMPLEMENT,
    IMPLEMENT_HERE,
    ChangeGoal,
    StepResult,
    implement,
)
from agents.pipelines.stages.inspect_weakening import PUT_BACK, inspect, put_back
from agents.pipelines.stages.known_facts import KnownFacts
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.pipeline import examine, judge, measure
from agents.pipelines.stages.prepare import prepare
from agents.pipelines.stages.quality import SECOND_LOOK, Baseline, measure_base
from agents.pipelines.stages.regression_proof import PROVE_AGAIN, prove, prove_again
from agents.pipelines.stages.repair_checks import QUALITY_FIX, quality_fix
from agents.requests import ResolveIssue
from agents.run import Outcome, Run

CONVERSATIONS = (
    TRIAGE,
    TRIAGE_AGAIN,
    COMMENT_DRAFT,
    RECORD_DECISION,
    CRAFT_DECISION_PR,
    DECOMPOSE,
    IMPLEMENT_HERE,
    IMPLEMENT,
    EVALUATION,
    EVAL_COMMENT,
    REVISE,
    INFEASIBLE_COMMENT,
    DOCS_REVIEW,
    PROVE_AGAIN,
    QUALITY_FIX,
    PUT_BACK,
    CRAFT_PR,
    CRAFT_DRAFT_PR,
    SECOND_LOOK,
)


async def resolve(run: Run, request: ResolveIssue) -> Outcome:
    """Turn a labelled issue into a pull request that passes the repository's own checks."""
    beginning = await run.stage(prepare)
    setup = await run.stage(set_up)
    material = await run.stage(gather, request, beginning)
    finding = await run.stage(triage, request, material, setup)
    agreed = False
    while finding.asks:
        question = await run.stage(comment_draft, finding)
        if not question.waits:
            return question.ended
        answered = await run.answer(question)
        if not answered:
            return await run.stage(unanswered, question)
        agreed = agreed or question.divides
        finding = await run.stage(triage_again, request, question)
    if not finding.actionable:
        decision = await run.stage(record_decision, request, finding)
        return await run.stage(craft_decision_pr, request, decision)
    order = await run.stage(divide, finding, agreed=agreed)
    if order.held_up:
        return await run.stage(held_up, order)
    baseline = await run.stage(measure_base, setup)
    facts = KnownFacts(
        baseline=baseline,
        discussion=material.discussion,
        excerpts=finding.excerpts,
        linked=material.linked,
        path=material.path,
    )
    return await change(run, request, finding, facts, order)


async def change(
    run: Run, request: ResolveIssue, finding: Triage, facts: KnownFacts, order: Order
) -> Outcome:
    """Change the code, in steps or sub-issue by sub-issue, as far as that can be done."""
    if order.work:
        work = await make_parts(run, request, finding, facts, order)
    else:
        work = await make_steps(run, request, finding, facts)
    if work.blocking_verdict:
        return await run.stage(eval_comment, request, work.blocking_verdict, work.aside)
    if run.unchanged:
        return await run.stage(infeasible_comment, work.tried)
    return await open_pull_request(run, request, facts.baseline, work)


async def make_steps(
    run: Run, request: ResolveIssue, finding: Triage, facts: KnownFacts
) -> ResolveWork:
    """Make the change in one to five steps, each by an engineer who starts fresh."""
    plan = await run.stage(decompose, finding, facts)
    if plan.asks:
        await run.stage(ask_grant, plan)
    made: tuple[StepResult, ...] = ()
    for assignment in plan.assignments(request, finding.risk):
        step = await run.stage(implement, assignment, facts)
        made = (*made, step)
    if run.unchanged:
        return ResolveWork(finding=finding, made=made)
    if facts.baseline.documents_first:
        await run.stage(docs_review, made[-1].documentation)
    # Of a pull request that the run goes on with, all is judged: people merge all of it.
    judged = await judge(run, finding.aim(request, run.base), facts, made)
    return ResolveWork(
        finding=finding,
        made=made,
        judged=judged,
        path=facts.path,
        fast=plan.fast,
        why_whole=plan.why_whole,
    )


async def make_parts(
    run: Run, request: ResolveIssue, finding: Triage, facts: KnownFacts, order: Order
) -> ResolveWork:
    """Resolve sub-issue by sub-issue; the first that cannot be done ends it."""
    parts: tuple[SubIssueWork, ...] = ()
    aside: SetAsideWork | None = None
    for assignment in order.assignments(request, finding.detail):
        before = run.head
        made = await run.stage(implement, assignment, facts)
        part = SubIssueWork(assignment=assignment, made=made)
        if run.head != before:
            judged = await judge(run, assignment.aim(before), facts)
            part = SubIssueWork(assignment=assignment, made=made, verdict=judged.verdict)
        parts = (*parts, part)
        if not part.done:
            aside = await run.stage(set_aside, part, before)
            break
    work = ResolveWork(finding=finding, parts=parts, order=order, aside=aside, path=facts.path)
    if run.unchanged or work.blocking_verdict or not facts.baseline.documents_first:
        return work
    before = run.head
    await run.stage(docs_review)
    if run.head == before:
        return work
    judged = await judge(run, finding.aim(request, before), facts, work.all_made)
    return ResolveWork(
        finding=finding, parts=parts, order=order, aside=aside, documents=judged, path=facts.path
    )


async def open_pull_request(
    run: Run, request: ResolveIssue, baseline: Baseline, work: ResolveWork
) -> Outcome:
    """Check the change, and let people see it."""
    if not baseline.documents_first:
        await run.stage(docs_review)
    if baseline.measures_first:
        checked = await verify(run, baseline, work, work.finding.aim(request, run.base))
    else:
        checked = await measure_last(run, baseline, work)
    if baseline.divides:
        checked = await divide_change(run, baseline, checked, work)
    if checked.ready and work.whole:
        text = await run.stage(craft_pr, checked, work)
    else:
        text = await run.stage(craft_draft_pr, checked, work)
    return await run.stage(publish, request, text, checked, work)


async def divide_change(
    run: Run, baseline: Baseline, checked: MeasuredChange, work: ResolveWork
) -> MeasuredChange:
    """See whether it is too large to be read at a time, and where it can be divided."""
    divided = await run.stage(plan_layers, ready=checked.ready and work.whole)
    for layer in divided.lower:
        quality = await run.stage(check_layer, baseline, layer)
        divided = divided.with_check(layer, quality)
    return checked.divide(divided)


async def verify(
    run: Run, baseline: Baseline, work: ResolveWork, aim: ChangeGoal
) -> MeasuredChange:
    """See that it is measured as it stands, and no test or check loosened that people want back."""
    judged = work.judgement.measured if work.judgement else None
    measured = await measure(run, baseline, aim, work.all_made, judged)
    inspection = await run.stage(inspect, measured.quality.lost)
    if inspection.denied:
        await run.stage(put_back, inspection)
        measured = await measure(run, baseline, aim, work.all_made, measured)
        inspection = await run.stage(inspect, measured.quality.lost, inspection)
    return MeasuredChange(quality=measured.quality, proof=measured.proof, inspection=inspection)


async def measure_last(run: Run, baseline: Baseline, work: ResolveWork) -> MeasuredChange:
    """Check a change that was judged before, as runs of an older version go on."""
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
