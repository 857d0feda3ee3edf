"""Remove an override, and verify that the versions without it are safe."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from agents.pipelines.remediate.ladder.climb import attempt, to_refusal, verify_fix
from agents.pipelines.remediate.ladder.climb_context import ClimbContext
from agents.pipelines.remediate.ladder.ecosystem import Ecosystem
from agents.pipelines.remediate.ladder.levels import RUNGS, LevelResult
from agents.pipelines.remediate.ladder.locked import Locked
from agents.pipelines.remediate.ladder.ranges import Ranges
from agents.pipelines.remediate.ladder.survey import survey
from agents.pipelines.remediate.ladder.values import (
    Fix,
    Group,
    Level,
    Refusal,
    Step,
    Stuck,
    Target,
    Terms,
    Unfit,
)
from agents.ports import WorkTree
from agents.requests import Overruled

MOST_SAID = 4

MakeEcosystem = Callable[[Collection[str]], Ecosystem]
"""Returns the ecosystem as if nothing of it had been read yet, without the files that are gone."""

_TAKEN_OUT = "Took the override out; nothing of it is needed any more."
_NEEDED = "Still needed: without it {whose}."
_ASKS = "{parent} asks for {name}{spec}, which brings {version}, in a vulnerable range"
_ITSELF = "the repository gets {name} {version}, in a vulnerable range"
_CANNOT = "Still needed: what comes without it does not hold. {why}"


def targets_of(overruled: Overruled, name: str) -> tuple[Target, ...]:
    """Return where the override had each vulnerable version of the package go."""
    return tuple(Target(name=name, old=old, new=new) for old, new in overruled.versions)


async def do_without(
    tree: WorkTree, again: MakeEcosystem, group: Group, terms: Terms, overruled: Overruled
) -> Fix | Refusal:
    """Take the override out of the work tree, or leave the tree as it is and say why.

    Where vulnerable copies come back then, the rungs below an override are tried. Whatever comes
    of it is held against the files as they were. Uses no model.
    """
    steps: list[Step] = []
    terms = terms.model_copy(update={"overrides": False, "back": True})
    ecosystem = again(())
    start = await tree.snapshot()
    try:
        since = await _survey_with_override(tree, ecosystem, group, terms, start)
        targets = targets_of(overruled, since.name)
        gone = await ecosystem.without_override(tree, targets, overruled.reason)
        await ecosystem.relock(tree, {})
        after = await ecosystem.read(tree)
        if not since.list_vulnerable(after):
            fix = await _fix_without_override(since, steps)
            needed = _CANNOT.format(why=steps[-1].why if steps else "")
        else:
            fix = await _climb_without_override(since, again(gone), steps)
            needed = _explain_need(since, after)
    except Unfit as unfit:
        fix, refusal = None, to_refusal(unfit, steps)
    except Stuck as stuck:
        fix, refusal = None, Refusal(cause="no_rung", reason=_CANNOT.format(why=stuck))
    else:
        refusal = Refusal(cause="no_rung", reason=needed, steps=tuple(steps))
    if fix is None:
        await tree.restore(start)
    return fix or refusal


async def _survey_with_override(
    tree: WorkTree, ecosystem: Ecosystem, group: Group, terms: Terms, start: str
) -> ClimbContext:
    """Return the files with the override: what everything is held against."""
    name = ecosystem.name_of(group.package)
    ranges = Ranges.from_advisories(ecosystem.scheme, group.advisories)
    before = await ecosystem.read(tree)
    return ClimbContext(tree, ecosystem, group, terms, name, ranges, before, (), start)


async def _fix_without_override(since: ClimbContext, steps: list[Step]) -> Fix | None:
    """Return the fix where nothing but the override had to go."""
    moved = LevelResult(frozenset({since.name}), _TAKEN_OUT)
    try:
        fix = await verify_fix(since, Level.FLOAT, moved)
    except Stuck as stuck:
        steps.append(Step(level=Level.FLOAT, done=False, why=str(stuck)))
        return None
    steps.append(Step(level=Level.FLOAT, done=True, why=moved.what))
    return fix.model_copy(update={"steps": tuple(steps)})


async def _climb_without_override(
    since: ClimbContext, ecosystem: Ecosystem, steps: list[Step]
) -> Fix | None:
    """Climb from the files without the override, as far as an override."""
    context = await survey(since.tree, ecosystem, since.group, since.terms)
    held = ClimbContext(
        since.tree, ecosystem, since.group, since.terms, since.name, since.ranges,
        since.before, context.targets, since.start,
    )  # fmt: skip
    for level, rung in RUNGS.items():
        if level < Level.OVERRIDE:
            fix = await attempt(context, level, rung, steps, since=held)
            if fix is not None:
                return fix
    return None


def _explain_need(since: ClimbContext, after: Locked) -> str:
    """Return who would bring a vulnerable copy back, for people."""
    said = [
        text
        for copy in after.copies(since.name)
        if since.ranges.hold(copy.version)
        for text in _list_dependents(after, since.name, copy.key, copy.version)
    ]
    shown: Sequence[str] = [*dict.fromkeys(said)][:MOST_SAID]
    return _NEEDED.format(whose="; ".join(shown))


def _list_dependents(after: Locked, name: str, key: str, version: str) -> list[str]:
    parents = [after.by_key[each] for each in after.needed_by.get(key, ()) if each in after.by_key]
    said = []
    for each in parents:
        spec = _spec(each.asks, name)
        parent = f"{each.name} {each.version}".strip()
        told = {"name": name, "version": version, "spec": spec, "parent": parent}
        said.append((_ITSELF if each.own else _ASKS).format(**told))
    return said or [_ITSELF.format(name=name, version=version)]


def _spec(asks: Mapping[str, str], name: str) -> str:
    return f" {asks[name][:60]}" if asks.get(name) else ""
