"""Stage set_aside: move unfinished parts of the change to a branch of their own."""

from __future__ import annotations

from agents.pipelines.resolve.work import SetAsideWork, SubIssueWork
from agents.pipelines.stages.implement import IMPLEMENT
from agents.run import Run, stage


@stage
async def set_aside(run: Run, part: SubIssueWork, before: str) -> SetAsideWork | None:
    """Leave out what is not done."""
    _back_to_the_engineer_before(run, part)
    if run.head == before:
        run.summary = "nothing was made"
        return None
    branch = await run.new_branch(str(part.assignment.part), "unfinished", run.mark)
    url = await run.ports.publisher.push(branch, run.head)
    run.stands(head=before)
    run.summary = branch
    return SetAsideWork(branch=branch, url=url)


def _back_to_the_engineer_before(run: Run, part: SubIssueWork) -> None:
    """Have later stages go on with whoever made what stays: the other one believes it is there."""
    number = part.assignment.number - 1
    if number:
        sessions = {**run.standing.sessions, IMPLEMENT.name: f"{IMPLEMENT.name}/{number}"}
        run.stands(sessions=sessions)
