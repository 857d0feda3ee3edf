"""Stage publish: push the branch, and open or update the pull request."""

from __future__ import annotations

from agents.pipelines.resolve.pull_request.body import pull_request_body
from agents.pipelines.resolve.pull_request.craft_pr import PullRequestText
from agents.pipelines.resolve.pull_request.template import read_template
from agents.pipelines.resolve.work import MeasuredChange, ResolveWork
from agents.pipelines.stages.prepare import find_taken_up
from agents.ports import DECISION
from agents.requests import ResolveIssue
from agents.run import Outcome, StageContext, stage

_NOT_READY = ". Not all of it is as it should be: its text says what"


@stage
async def publish(
    run: StageContext,
    request: ResolveIssue,
    text: PullRequestText,
    checked: MeasuredChange,
    work: ResolveWork,
) -> Outcome:
    """Open the pull request."""
    earlier = await find_taken_up(run)
    branch = run.branch or (earlier and earlier.branch) or await _branch(run, request, text.branch)
    spent = await run.ports.journal.sum_usage()
    template = await read_template(run) if text.template else ""
    body = pull_request_body(request, text, checked, work, spent, template=template)
    ready = checked.ready and work.whole
    run.lets_out()
    await run.ports.publisher.push(branch, run.head, replacing=earlier.head if earlier else "")
    pull_request = await run.ports.publisher.open_pull_request(
        branch=branch,
        commit=run.head,
        title=await run.format_subject(text.title),
        body=body,
        draft=not ready,
        closes=_closes(request, work),
        terms=(await run.policy()).pull_requests,
    )
    kind = "draft pull request" if pull_request.draft else "pull request"
    where = f" #{pull_request.number}" if pull_request.number else ""
    run.summarize(f"{kind}{where}")
    did = "Brought up to date:" if run.branch or earlier else "Opened"
    return Outcome(
        kind="pull_request",
        text=f"{did} {kind}{where}: {pull_request.title}{'' if ready else _NOT_READY}."
        f" {checked.headline}",
        url=pull_request.url,
        pull_request=pull_request,
        ready=ready,
    )


async def _branch(run: StageContext, request: ResolveIssue, words: str) -> str:
    while words.startswith(DECISION):  # such a branch would not be found again
        words = words.removeprefix(DECISION)
    return await run.new_branch(str(request.number or ""), words, run.mark)


def _closes(request: ResolveIssue, work: ResolveWork) -> tuple[int, ...]:
    """Return the issues that the merge closes: the whole one only when nothing of it is left."""
    parts = tuple(part.assignment.part for part in work.done)
    whole = not work.parts or work.whole
    return (*((request.number,) if request.number and whole else ()), *parts)
