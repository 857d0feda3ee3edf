"""Stage publish: push the branch, and open or update the pull request."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.resolve.layers import LayeredChange
from agents.pipelines.resolve.pull_request.body import pull_request_body
from agents.pipelines.resolve.pull_request.craft_pr import PullRequestText
from agents.pipelines.resolve.pull_request.layer_text import describe_part, list_parts, title_part
from agents.pipelines.resolve.pull_request.template import read_template
from agents.pipelines.resolve.work import MeasuredChange, ResolveWork
from agents.pipelines.stages.prepare import find_taken_up
from agents.ports import DECISION, NeighbourPull, PullRequest
from agents.requests import ResolveIssue
from agents.run import Outcome, StageContext, stage
from agents.text import code_span, one_line

MOST_FILES = 6
"""Of one other pull request that are named."""
_NOT_READY = ". Not all of it is as it should be: its text says what"


@stage
async def publish(
    run: StageContext,
    request: ResolveIssue,
    text: PullRequestText,
    checked: MeasuredChange,
    work: ResolveWork,
    *,
    divided: LayeredChange | None = None,
) -> Outcome:
    """Open the pull request, and below it those of its parts, where the change was divided."""
    divided = divided or LayeredChange()
    earlier = await find_taken_up(run)
    branch = run.branch or (earlier and earlier.branch) or await _branch(run, request, text.branch)
    run.lets_out()
    lower = await _open_lower(run, request, text, divided, work)
    await run.push(branch, replacing=earlier.head if earlier else "")
    checked, work = run.rename_commits_in(checked), run.rename_commits_in(work)
    spent = await run.ports.journal.sum_usage()
    template = await read_template(run) if text.template else ""
    beside = await _describe_neighbours(run)
    title = await run.format_subject(text.title)
    at = len(divided.lower)
    size = list_parts(divided, lower, here=at, title=title) if lower else divided.size_note
    body = pull_request_body(
        request, text, checked, work, spent, template=template, beside=beside, size=size
    )
    ready = checked.ready and work.whole
    pull_request = await run.ports.publisher.open_pull_request(
        branch=branch,
        commit=run.head,
        title=title,
        body=body,
        draft=not ready,
        closes=_closes(request, work),
        terms=(await run.policy()).pull_requests,
        onto=lower[-1].branch if lower else "",
    )
    pulls = (*lower, pull_request)
    if lower or earlier:
        await run.ports.publisher.stack(pulls)
    if lower:
        lower = await _open_lower(run, request, text, divided, work, pulls=pulls)
    name = _name_pulls(pull_request, lower)
    run.summarize(name)
    did = "Brought up to date:" if run.branch or earlier else "Opened"
    return Outcome(
        kind="pull_request",
        text=f"{did} {name}: {pull_request.title}{'' if ready else _NOT_READY}. {checked.headline}",
        url=pull_request.url,
        pull_request=pull_request,
        lower=lower,
        ready=ready,
        confidence=run.standing.confidence,
    )


def _name_pulls(pull_request: PullRequest, lower: Sequence[PullRequest]) -> str:
    kind = "draft pull request" if pull_request.draft else "pull request"
    where = f" #{pull_request.number}" if pull_request.number else ""
    below = f", on top of {', '.join(f'#{each.number}' for each in lower)}" if lower else ""
    return f"{kind}{where}{below}"


async def _open_lower(
    run: StageContext,
    request: ResolveIssue,
    text: PullRequestText,
    divided: LayeredChange,
    work: ResolveWork,
    *,
    pulls: Sequence[PullRequest] = (),
) -> tuple[PullRequest, ...]:
    """Open the pull requests of the lower parts, or bring them up to date; return them."""
    found: list[PullRequest] = []
    for at, layer in enumerate(divided.lower):
        branch = await _branch(run, request, f"{text.branch}-part-{at + 1}")
        await run.push(branch, commit=layer.commit)
        commit = run.find_signed(layer.commit)
        body = describe_part(
            request, divided, work, pulls or found, at=at, commit=commit, title=text.title
        )
        opened = await run.ports.publisher.open_pull_request(
            branch=branch,
            commit=commit,
            title=title_part(divided, at),
            body=body,
            draft=False,
            terms=(await run.policy()).pull_requests,
            onto=found[-1].branch if found else "",
            lower=True,
        )
        found.append(opened)
    return tuple(found)


async def _describe_neighbours(run: StageContext) -> str:
    """Return which other open pull requests change files that this one changes, for people."""
    if run.ports.tracker is None:
        return ""
    changed = set(await (await run.tree()).list_changed_paths(run.base, run.head))
    shared = [
        (each, sorted(changed.intersection(each.files)))
        for each in await run.ports.tracker.neighbours()
    ]
    lines = [_describe_overlap(each, files) for each, files in shared if files]
    return "\n".join(lines)


def _describe_overlap(pull: NeighbourPull, files: Sequence[str]) -> str:
    """Return it without words of its author: only paths that are this change's as well."""
    named = ", ".join(code_span(one_line(path, 120)) for path in files[:MOST_FILES])
    more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    return f"- #{pull.number}: {named}{more}"


async def _branch(run: StageContext, request: ResolveIssue, words: str) -> str:
    while words.startswith(DECISION):  # such a branch would not be found again
        words = words.removeprefix(DECISION)
    return await run.new_branch(str(request.number or ""), words, run.mark)


def _closes(request: ResolveIssue, work: ResolveWork) -> tuple[int, ...]:
    """Return the issues that the merge closes: the whole one only when nothing of it is left."""
    parts = tuple(part.assignment.part for part in work.done)
    whole = not work.parts or work.whole
    return (*((request.number,) if request.number and whole else ()), *parts)
