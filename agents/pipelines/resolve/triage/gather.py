"""Stage gather: read instructions, linked issues, sub-issues, and an open draft."""

from __future__ import annotations

from agents.pipelines.resolve.decision.decided_before import decided_before
from agents.pipelines.resolve.sub_issues.order import Order, in_order
from agents.pipelines.stages.onboarding import read_instructions
from agents.pipelines.stages.prepare import Beginning
from agents.policy import WorkPath
from agents.ports import EarlierPull, LinkedIssue, NeighbourPull
from agents.requests import Frozen, ResolveIssue
from agents.run import StageContext, stage

MOST_LINKED = 8


class Material(Frozen):
    """What the engineers of the run know beside the issue itself."""

    instructions: str = ""
    decisions: str = ""
    """What was decided before, by the log of the default branch."""
    discussion: str = ""
    """What people with write access had said on it when the run was asked for: untrusted."""
    linked: tuple[LinkedIssue, ...] = ()
    """What the issue's text refers to in this repository."""
    parts: Order = Order()
    """Its sub-issues."""
    rivals: tuple[NeighbourPull, ...] = ()
    """Open pull requests of others that name the issue."""
    earlier: EarlierPull | None = None
    """The pull request that is brought up to date."""
    path: WorkPath = "whole"
    """How the issue becomes a change, unless something speaks for the whole path."""


@stage
async def gather(run: StageContext, request: ResolveIssue, beginning: Beginning) -> Material:
    """Read what belongs to the issue."""
    tracker = run.ports.tracker
    path = (await run.policy()).path or run.path
    told, decisions = await read_instructions(run), await decided_before(run)
    if tracker is None:
        run.summarize("nothing on GitHub belongs to it")
        return Material(
            instructions=told, decisions=decisions, earlier=beginning.earlier, path=path
        )
    discussion = await tracker.discussion()
    linked = await tracker.find_linked(request.text, limit=MOST_LINKED)
    parts = in_order(await tracker.sub_issues())
    rivals = await tracker.neighbours(on_issue=True)
    trusted = [each.author_may_write for each in linked]
    if not all(
        trusted + [each.author_may_write for each in parts.work]
    ):  # strangers have a say in what the model reads
        run.update_state(tainted=True)
    run.summarize(
        f"{_format_count(len(linked), 'linked issue')}, "
        f"{_format_count(len(parts.work), 'open sub-issue')}"
    )
    return Material(
        instructions=told,
        decisions=decisions,
        discussion=discussion,
        linked=linked,
        parts=parts,
        rivals=rivals,
        earlier=beginning.earlier,
        path=path,
    )


def _format_count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
