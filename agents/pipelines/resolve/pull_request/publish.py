"""Stage publish: push the branch, and open or update the pull request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from agents.pipelines.resolve.pull_request.base_moves import BaseMoves, find_base_moves
from agents.pipelines.resolve.pull_request.body import describe_overlaps, pull_request_body
from agents.pipelines.resolve.pull_request.craft_pr import PullRequestText
from agents.pipelines.resolve.pull_request.lower_parts import (
    describe_size,
    new_branch,
    open_lower,
    title_whole,
)
from agents.pipelines.resolve.work import MeasuredChange, ResolveWork
from agents.pipelines.stages.prepare import find_taken_up
from agents.pipelines.stages.pull_template import read_template
from agents.ports import PullRequest
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
    """Open the pull request.

    Those of its lower parts come before it, where the change was divided.
    """
    earlier = await find_taken_up(run)
    branch = run.branch or (earlier.branch if earlier else "")
    branch = branch or await new_branch(run, request, text.branch)
    moves = BaseMoves() if run.ports.tracker is None else await find_base_moves(run)
    run.lets_out()
    lower = await open_lower(run, request, text, checked, work)
    await run.push(branch, replacing=earlier.head if earlier else "")
    checked, work = run.rename_commits_in(checked), run.rename_commits_in(work)
    ready = checked.ready and work.whole
    title = title_whole(checked.divided, lower, await run.format_subject(text.title))
    size = describe_size(checked.divided, lower, work)
    pull_request = await run.ports.publisher.open_pull_request(
        branch=branch,
        commit=run.head,
        title=title,
        body=await _write_body(run, text, checked, work, size=size, moves=moves),
        draft=not ready,
        closes=_closes(request, work),
        terms=(await run.policy()).pull_requests,
        onto=lower[-1].branch if lower else "",
    )
    if lower or earlier:
        await run.ports.publisher.stack((*lower, pull_request))
    lower = await open_lower(run, request, text, checked, work, pulls=(*lower, pull_request))
    name = _name_pulls(pull_request, lower)
    run.summarize(name)
    did = "Brought up to date:" if run.branch or earlier else "Opened"
    return Outcome(
        kind="pull_request",
        text=f"{did} {name}: {pull_request.title}{'' if ready else _NOT_READY}. {checked.headline}"
        f"{moves.warning}",
        url=pull_request.url,
        pull_request=pull_request,
        lower=lower,
        ready=ready,
        confidence=run.standing.confidence,
    )


async def _write_body(
    run: StageContext,
    text: PullRequestText,
    checked: MeasuredChange,
    work: ResolveWork,
    *,
    size: str,
    moves: BaseMoves,
) -> str:
    """Return the body of the pull request for the whole."""
    return pull_request_body(
        cast("ResolveIssue", run.request),
        text,
        checked,
        work,
        await run.ports.journal.sum_usage(),
        template=await read_template(run),
        beside=await _describe_neighbours(run),
        moves=moves.section,
        size=size,
        granted=await run.list_grant_uses(),
    )


def _name_pulls(pull_request: PullRequest, lower: Sequence[PullRequest]) -> str:
    kind = "draft pull request" if pull_request.draft else "pull request"
    where = f" #{pull_request.number}" if pull_request.number else ""
    below = f", on top of {', '.join(f'#{each.number}' for each in lower)}" if lower else ""
    return f"{kind}{where}{below}"


async def _describe_neighbours(run: StageContext) -> str:
    """Return which other open pull requests change files that this one changes, for people."""
    if run.ports.tracker is None:
        return ""
    changed = set(await (await run.tree()).list_changed_paths(run.base, run.head))
    return describe_overlaps(await run.ports.tracker.neighbours(), changed)


def _closes(request: ResolveIssue, work: ResolveWork) -> tuple[int, ...]:
    """Return the issues that the merge closes: the whole one only when nothing of it is left."""
    parts = tuple(part.assignment.part for part in work.done)
    whole = not work.parts or work.whole
    return (*((request.number,) if request.number and whole else ()), *parts)
