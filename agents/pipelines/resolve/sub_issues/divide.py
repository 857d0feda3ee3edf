"""Stage divide: list the sub-issues to work on, created first where people agreed to them."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.resolve.sub_issues.order import Order, in_order
from agents.pipelines.resolve.triage.triage import Triage
from agents.ports import NewSubIssue, SubIssue
from agents.run import Run, stage


@stage
async def divide(run: Run, finding: Triage, *, agreed: bool) -> Order:
    """Look for sub-issues.

    `agreed`: people have answered a proposal with parts, so they may be made.
    """
    tracker = run.ports.tracker
    if tracker is None:
        run.summary = "none"
        return Order()
    parts = await tracker.sub_issues()
    if finding.sub_issues and agreed and _none_but_ours(parts, finding):
        run.lets_out()
        wanted = [NewSubIssue(title=part.title, body=part.body) for part in finding.sub_issues]
        parts = await tracker.create_sub_issues("division", wanted)
    order = in_order(parts)
    if not all(part.author_may_write for part in order.work):
        run.stands(tainted=True)
    run.summary = ", ".join(part.reference for part in order.work) or "none"
    return order


def _none_but_ours(parts: Sequence[SubIssue], finding: Triage) -> bool:
    """Return whether all there is was made by this stage, before its process died half-way."""
    titles = {part.title for part in finding.sub_issues}
    return all(part.title in titles and part.author.endswith("[bot]") for part in parts)
