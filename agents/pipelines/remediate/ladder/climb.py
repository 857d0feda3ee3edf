"""Climb the ladder: try each level, cheapest first, verify it, and undo what fails."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.remediate.ladder.climb_context import ClimbContext
from agents.pipelines.remediate.ladder.ecosystem import Ecosystem
from agents.pipelines.remediate.ladder.levels import RUNGS, LevelResult, Rung
from agents.pipelines.remediate.ladder.prove import prove
from agents.pipelines.remediate.ladder.survey import survey
from agents.pipelines.remediate.ladder.values import (
    Fix,
    Group,
    Level,
    Refusal,
    Step,
    Stuck,
    Terms,
    Unfit,
)
from agents.ports import WorkTree

_NO_RUNG = "{name} cannot be moved out of the vulnerable ranges with {tool} alone."


async def climb(tree: WorkTree, ecosystem: Ecosystem, group: Group, terms: Terms) -> Fix | Refusal:
    """Fix one group of alerts in the work tree, or leave the tree as it is and say why.

    Uses no model. What is raised on the way, such as a cancel, leaves the tree half-way.
    """
    steps: list[Step] = []
    try:
        context = await survey(tree, ecosystem, group, terms)
        for level, rung in RUNGS.items():
            fix = await attempt(context, level, rung, steps)
            if fix is not None:
                return fix
    except Unfit as unfit:
        return to_refusal(unfit, steps)
    except Stuck as stuck:  # before the first rung: no index answers
        return Refusal(cause="no_tool", reason=str(stuck))
    reason = _NO_RUNG.format(name=context.name, tool=ecosystem.tool)
    return Refusal(cause="no_rung", reason=reason, steps=tuple(steps))


def to_refusal(unfit: Unfit, steps: Sequence[Step] = ()) -> Refusal:
    """Return the refusal that an Unfit stands for."""
    return Refusal(cause=unfit.cause, reason=str(unfit), steps=tuple(steps), major=unfit.major)


async def attempt(
    context: ClimbContext,
    level: Level,
    rung: Rung,
    steps: list[Step],
    *,
    since: ClimbContext | None = None,
) -> Fix | None:
    """Try one rung; None, and the files as they were, when it does not hold.

    `since`: what the result is held against, where that is not what the rung stands on.
    """
    try:
        moved = await rung(context)
        fix = await verify_fix(since or context, level, moved)
    except Stuck as stuck:
        steps.append(Step(level=level, done=False, why=str(stuck)))
        await context.put_back()
        return None
    except Unfit:
        await context.put_back()
        raise
    steps.append(Step(level=level, done=True, why=moved.what))
    return fix.model_copy(update={"steps": tuple(steps)})


async def verify_fix(context: ClimbContext, level: Level, moved: LevelResult) -> Fix:
    """Return the fix if all checks by code hold. Raises Stuck with each that does not."""
    proof = await prove(context, moved.named)
    return Fix(
        level=level,
        tool=context.ecosystem.tool,
        targets=context.targets,
        moves=proof.moves,
        files=proof.files,
        steps=(),
        evidence=proof.evidence,
        notes=proof.notes,
        tree=proof.tree,
        within=proof.within,
        overruled=moved.overruled,
    )
