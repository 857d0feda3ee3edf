"""The lower parts of a divided change: pull requests that the one for the whole stands on."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.resolve.layers import Layer, LayeredChange
from agents.pipelines.resolve.pull_request.craft_pr import PullRequestText
from agents.pipelines.resolve.work import MeasuredChange, ResolveWork
from agents.pipelines.stages.implement import StepResult
from agents.pipelines.stages.quality import checks_table
from agents.ports import DECISION, PullRequest
from agents.requests import ResolveIssue
from agents.run import StageContext
from agents.text import one_line, publish

TITLE = 90
SAID = 4_000  # characters of what the engineers say of one part
WHOLE = (
    "The change was divided, so that each part can be read at a time. Each stands on the one above"
    " it in this list; merge them in this order:"
)
PART = (
    "Part {number} of {count} of what {issue} asks for. The last part says why it is done so, which"
    " test shows it, and what it cost."
)
CHECKED = (
    "Run by Fettle in a sandbox without network: before on the default branch, after on"
    " {commit}, which is the end of this part."
)


async def open_lower(
    run: StageContext,
    request: ResolveIssue,
    text: PullRequestText,
    checked: MeasuredChange,
    work: ResolveWork,
    *,
    pulls: Sequence[PullRequest] = (),
) -> tuple[PullRequest, ...]:
    """Open the pull requests of the lower parts, or bring them up to date; return them."""
    divided, found = checked.divided, list[PullRequest]()
    for at, layer in enumerate(divided.lower):
        branch = await new_branch(run, request, f"{text.branch}-part-{at + 1}")
        await run.push(branch, commit=layer.commit)
        commit = run.find_signed(layer.commit)
        body = _describe_part(request, divided, work, pulls or found, at=at, commit=commit)
        opened = await run.ports.publisher.open_pull_request(
            branch=branch,
            commit=commit,
            title=_title_part(divided, at),
            body=body,
            draft=False,
            terms=(await run.policy()).pull_requests,
            onto=found[-1].branch if found else "",
            lower=True,
        )
        found.append(opened)
    return tuple(found)


async def new_branch(run: StageContext, request: ResolveIssue, words: str) -> str:
    """Return the name of a branch of the run's for these words."""
    while words.startswith(DECISION):  # such a branch would not be found again
        words = words.removeprefix(DECISION)
    return await run.new_branch(str(request.number or ""), words, run.mark)


def describe_size(divided: LayeredChange, lower: Sequence[PullRequest], work: ResolveWork) -> str:
    """Return what the pull request for the whole says of its size; empty where it is small."""
    if not lower:
        return divided.size_note
    top = divided.layers[-1]
    listed, made = _list_parts(divided, lower, here=-1), _describe_commits(top, work)
    return f"{listed}\n\nThis part:\n\n{made}"


def title_whole(divided: LayeredChange, lower: Sequence[PullRequest], title: str) -> str:
    """Return the title of the pull request for the whole: it has a place among its parts."""
    count = len(divided.layers)
    return f"{title} ({count} of {count})" if lower else title


def _list_parts(divided: LayeredChange, pulls: Sequence[PullRequest], *, here: int) -> str:
    """Return all parts in the order in which they are merged; those without a number come yet.

    `here`: the place of the one that this is read on; negative ones count from the last.
    """
    lines, here = [], here % len(divided.layers)
    for at, layer in enumerate(divided.layers):
        number = pulls[at].number if at < len(pulls) else None
        name = "this one" if at == here else f"#{number}" if number else "to come"
        what = one_line(publish(layer.titles[0]), TITLE)
        lines.append(f"{at + 1}. {name}: {what} ({layer.lines:,} lines)")
    return f"{WHOLE}\n\n" + "\n".join(lines)


def _title_part(divided: LayeredChange, at: int) -> str:
    """Return the title of a lower part."""
    count = len(divided.layers)
    return f"{one_line(divided.layers[at].titles[0], TITLE)} ({at + 1} of {count})"


def _describe_part(
    request: ResolveIssue,
    divided: LayeredChange,
    work: ResolveWork,
    pulls: Sequence[PullRequest],
    *,
    at: int,
    commit: str,
) -> str:
    """Return the body of a lower part in Markdown; `commit`: its last one, as it is pushed."""
    layer = divided.layers[at]
    assert layer.quality is not None, "a lower part was checked by itself"
    issue = f"#{request.number}" if request.number else "the request"
    parts = (
        PART.format(number=at + 1, count=len(divided.layers), issue=issue),
        _list_parts(divided, pulls, here=at),
        f"### What it does\n\n{_describe_commits(layer, work)}",
        f"### How it was verified\n\n{checks_table(layer.quality)}",
        CHECKED.format(commit=commit[:10]),
    )
    return "\n\n".join(parts)


def _describe_commits(layer: Layer, work: ResolveWork) -> str:
    """Return what its engineers say of its commits; the first line where they said nothing."""
    told = [
        (title, next((each.summary for each in work.all_made if _is_about(each, title)), ""))
        for title in layer.titles
    ]
    found = [
        f"**{one_line(publish(title), TITLE)}.** {publish(said, limit=SAID)}"
        for title, said in told
    ]
    return "\n\n".join(each.strip() for each in found)


def _is_about(step: StepResult, title: str) -> bool:
    """Return whether the step made the commit: its first line may have a type before its words."""
    words = one_line(step.title, TITLE).casefold()
    return bool(step.commit and words) and words[:50] in title.casefold()
