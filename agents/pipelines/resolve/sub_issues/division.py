"""Stages divide, held_up, set_aside: an issue's sub-issues, made, left waiting or left out."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.resolve.sub_issues.order import Order, in_order
from agents.pipelines.resolve.triage.triage import Triage
from agents.pipelines.resolve.work import SetAsideWork, SubIssueWork
from agents.pipelines.stages.implement import IMPLEMENT
from agents.ports import NewSubIssue, SubIssue
from agents.run import Outcome, StageContext, stage


@stage
async def divide(run: StageContext, finding: Triage, *, agreed: bool) -> Order:
    """Look for sub-issues.

    `agreed`: people have answered a proposal with parts, so they may be made.
    """
    tracker = run.ports.tracker
    if tracker is None:
        run.summarize("none")
        return Order()
    parts = await tracker.sub_issues()
    if finding.sub_issues and agreed and _none_but_ours(parts, finding):
        run.lets_out()
        wanted = [NewSubIssue(title=part.title, body=part.body) for part in finding.sub_issues]
        parts = await tracker.create_sub_issues("division", wanted)
    order = in_order(parts)
    if not all(part.author_may_write for part in order.work):
        run.update_state(tainted=True)
    run.summarize(", ".join(part.reference for part in order.work) or "none")
    return order


def _none_but_ours(parts: Sequence[SubIssue], finding: Triage) -> bool:
    """Return whether all there is was made by this stage, before its process died half-way."""
    titles = {part.title for part in finding.sub_issues}
    return all(part.title in titles and part.author.endswith("[bot]") for part in parts)


_COMMENT = """### None of the sub-issues can be worked on now

{lines}

_Nothing was changed. Close or unlink what stands in the way, then write `/bot retry`. Sub-issues
are this issue's division, so I do not work on it as a whole while they are open._"""


@stage
async def held_up(run: StageContext, order: Order) -> Outcome:
    """Say what stands in the way."""
    lines = [
        f"- #{each.number} waits for {', '.join(f'#{number}' for number in each.on)}"
        for each in order.waiting
    ]
    lines += [
        f"- {', '.join(f'#{number}' for number in ring)} wait for each other"
        for ring in order.cycles
    ]
    lines += [f"- {part.reference} is in another repository" for part in order.elsewhere]
    url = await run.ports.publisher.comment("held-up", _COMMENT.format(lines="\n".join(lines)))
    run.summarize("held up")
    return Outcome(kind="comment", text="None of the sub-issues can be worked on now.", url=url)


@stage
async def set_aside(run: StageContext, part: SubIssueWork, before: str) -> SetAsideWork | None:
    """Leave out what is not done."""
    _restore_engineer(run, part)
    if run.head == before:
        run.summarize("nothing was made")
        return None
    branch = await run.new_branch(str(part.assignment.part), "unfinished", run.mark)
    url = await run.push(branch)
    run.update_state(head=before)
    run.summarize(branch)
    return SetAsideWork(branch=branch, url=url)


def _restore_engineer(run: StageContext, part: SubIssueWork) -> None:
    """Have later stages go on with whoever made what stays: the other one believes it is there."""
    number = part.assignment.number - 1
    if number:
        sessions = {**run.standing.sessions, IMPLEMENT.name: f"{IMPLEMENT.name}/{number}"}
        run.update_state(sessions=sessions)
