"""Stage keep_work: push what an ended run has made to a branch, because it was paid for."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

from agents.errors import RunError
from agents.pipelines.stages.prepare import find_taken_up
from agents.ports import PullRequest
from agents.requests import Frozen, ResolveIssue
from agents.run import Outcome, StageContext, stage
from agents.text import one_line

TITLE = 90
DAY_OVER = "day-over"
"""Rule of an outcome that only the day's budget stood in the way of."""
_DRAFT = """Fettle stopped before this was done.

{reason}

What is here was committed until then{where}. **Nothing of it counts as verified**: the
repository's checks may not have run on it as it stands, and nobody may have looked at it with fresh
eyes. Take it as a beginning. {again}"""
_RETRY = "Or write `/bot retry` on the issue: the run then goes on with this pull request."
_RETRY_HERE = "Or ask for the same again."
_KEPT = "What it had made until then is kept on [`{branch}`]({url})."
_NO_DRAFT = "No draft could be opened from it: {why}"
_LOST = "What it had made until then could not be pushed: {why}"
_FOREIGN = (
    "What was made is not kept: it builds on the commits of a fork, and those are never pushed to"
    " this repository, whose own checks would run them with its secrets."
)
_APART = "What was made is kept on [`{branch}`]({url}): go on from there, or {then}."
_THERE = "What it had made until then is pushed already."
_UNCOMMITTED = "Unfinished work of the stage {stage}"


class EarlyEnd(Frozen):
    """Why a run ended before its pipeline did."""

    kind: Literal["failed", "cancelled"]
    text: str
    over_budget: bool = False
    """What it may use up was used up, and nothing else went wrong."""
    unneeded: bool = False
    """Nobody needs what it was to make any more."""
    rule: str | None = None
    """By which rule, where somebody has to tell it from others."""


@stage
async def keep_work(run: StageContext, stopped: EarlyEnd) -> Outcome:
    """Keep what was made."""
    with suppress(RunError):  # a label that cannot be taken off is no reason to lose anything
        await run.show_waiting(on=False)
    try:
        await commit_what_is_left(run)
    except RunError:  # such as protected files half-way changed: what was committed is kept
        run.let_go()
    if run.unchanged:
        run.summarize("nothing had been changed")
        return Outcome(kind=stopped.kind, text=stopped.text)
    if run.pushed:
        run.summarize("it is pushed already")
        return Outcome(kind=stopped.kind, text=f"{stopped.text} {_THERE}")
    if stopped.unneeded or getattr(run.request, "no_pr", False):
        run.summarize("nobody needs it any more" if stopped.unneeded else "not published, as asked")
        return Outcome(kind=stopped.kind, text=stopped.text)
    if run.foreign:
        run.summarize("nothing may be pushed")
        return Outcome(kind=stopped.kind, text=f"{stopped.text} {_FOREIGN}")
    try:
        return await _publish_branch(run, stopped)
    except RunError as error:
        return Outcome(kind=stopped.kind, text=f"{stopped.text} {_LOST.format(why=error)}")


async def commit_what_is_left(run: StageContext, stage: str = "") -> None:
    """Commit what the stage that failed had changed until then.

    `stage`: its occurrence, where the run has gone on since.
    """
    left = await run.what_is_left(stage)
    if not left:
        return
    await run.tree(left)
    await run.commit(_UNCOMMITTED.format(stage=stage or run.left_by))


async def _publish_branch(run: StageContext, stopped: EarlyEnd) -> Outcome:
    earlier = await find_taken_up(run)
    own = earlier if earlier and earlier.draft and _may_draft(run, stopped) else None
    draft = own.branch if own else await _draft(run, stopped)
    branch = draft or await unfinished_branch(run)
    url = await run.push(branch, replacing=own.head if own else "")
    run.summarize(branch)
    kept = f"{stopped.text} {_KEPT.format(branch=branch, url=url)}"
    if not draft:
        return Outcome(kind=stopped.kind, text=kept, url=url)
    try:
        pull_request = await _open_draft(run, stopped, branch)
    except RunError as error:
        if str(error) not in stopped.text:
            kept = f"{kept} {_NO_DRAFT.format(why=error)}"
        return Outcome(kind=stopped.kind, text=kept, url=url)
    return Outcome(
        kind="pull_request",
        text=f"Opened an unfinished draft. {stopped.text}",
        url=pull_request.url,
        pull_request=pull_request,
        ready=False,
    )


async def _open_draft(run: StageContext, stopped: EarlyEnd, branch: str) -> PullRequest:
    return await run.ports.publisher.open_pull_request(
        branch=branch,
        commit=run.head,
        title=one_line(f"Unfinished: {run.request.title}", TITLE),
        body=_DRAFT.format(
            reason=stopped.text,
            where=f", in the stage `{run.left_by}` at the latest" if run.left_by else "",
            again=_RETRY if getattr(run.request, "number", 0) else _RETRY_HERE,
        ),
        draft=True,
        terms=(await run.policy()).pull_requests,
    )


async def keep_on_own_branch(run: StageContext, *, then: str) -> str:
    """Put what must not be pushed where it belongs on a branch of its own; say so, for people.

    `then`: what they can do besides going on from there.
    """
    if run.foreign:
        return _FOREIGN
    branch = await unfinished_branch(run)
    url = await run.push(branch)
    return _APART.format(branch=branch, url=url, then=then)


async def _draft(run: StageContext, stopped: EarlyEnd) -> str:
    """Return the branch of the draft that unfinished work may go into; empty where there is none.

    An issue has one pull request: unfinished work goes into a draft, and never onto one that may
    be merged as it is. What is asked about a pull request never becomes another one, and what an
    alert asks for has no issue on which somebody could go on with a draft. Whoever cancels a run
    does not want a pull request of it, and a run on a clone that failed leaves a branch.
    """
    if not _may_draft(run, stopped):
        return ""
    if not run.branch:
        return await unfinished_branch(run)
    tracker = run.ports.tracker
    earlier = await tracker.earlier_pull_request() if tracker is not None else None
    return run.branch if earlier and earlier.draft and earlier.branch == run.branch else ""


def _may_draft(run: StageContext, stopped: EarlyEnd) -> bool:
    on_issue = bool(getattr(run.request, "number", 0))
    if stopped.kind == "cancelled" or not (on_issue or stopped.over_budget):
        return False
    return isinstance(run.request, ResolveIssue)


async def unfinished_branch(run: StageContext) -> str:
    """Return the name of the branch for what a run could not finish."""
    number = getattr(run.request, "number", 0)
    return await run.new_branch(str(number or ""), "unfinished", run.mark)
