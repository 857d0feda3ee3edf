"""The levels of the ladder: what each changes, and which packages it moves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from agents.pipelines.remediate.ladder.climb_context import ClimbContext
from agents.pipelines.remediate.ladder.parents import find_parents_to_move, list_ancestors
from agents.pipelines.remediate.ladder.ranges import NPM, PYPI
from agents.pipelines.remediate.ladder.values import Level, Stuck
from agents.requests import Overruled

_PINNED = "`{own.file}` pins {own.name} to {pinned}, which is vulnerable itself."
_NOT_OWN = "The repository does not ask for {name} itself; other packages do."
_UNLOCKED = "There is no lock file: the requirement itself decides."
_NO_OVERRIDES = "The policy does not permit entries that overrule what other packages ask for."
_ADMITTED = "The repository's own requirements admit the fix already."
_REASON = "{ids}overrules other packages; look at it again by {until:%Y-%m-%d}"


@dataclass(frozen=True)
class LevelResult:
    """What a rung did."""

    named: frozenset[str]
    """The packages that it meant to move."""
    what: str
    """For people."""
    overruled: Overruled | None = None
    """The override that it made, if it did."""


async def float_lock(context: ClimbContext) -> LevelResult:
    """Level 0: move the lock file within every requirement."""
    if not context.ecosystem.locks:
        raise Stuck(_UNLOCKED)
    _require_unpinned(context)
    await context.move(context.pins)
    return LevelResult(
        frozenset(context.pins), "Moved the lock file alone; no requirement changed."
    )


async def bump(context: ClimbContext) -> LevelResult:
    """Level 1: move the repository's own pin or floor."""
    return await _own(context, widen=False)


async def widen(context: ClimbContext) -> LevelResult:
    """Level 2: move the repository's own upper bound."""
    return await _own(context, widen=True)


async def parent(context: ClimbContext) -> LevelResult:
    """Level 3: move others to the smallest releases that admit the fix."""
    if not context.ecosystem.locks:
        raise Stuck(_UNLOCKED)
    found = await find_parents_to_move(context)
    parents, changes = found.releases, [*found.made.changes] if found.made else []
    pins = {**context.pins, **parents}
    if found.made:
        await context.tree.restore(found.made.tree)
    else:
        changes = await context.move(pins, list_ancestors(context, parents), widen=True)
    moves = ", ".join(f"{name} to {version}" for name, version in parents.items())
    words = [f"Moved {moves}, the smallest that admits the fix", *changes]
    return LevelResult(frozenset(pins), f"{'; '.join(words)}.")


async def override(context: ClimbContext) -> LevelResult:
    """Level 4: overrule what other packages ask for, for as long as need be."""
    if not context.terms.overrides:
        raise Stuck(_NO_OVERRIDES)
    until = context.terms.today + timedelta(days=context.terms.override_days)
    ids = "" if context.group.undisclosed else f"{', '.join(context.group.ids)}: "
    reason = _REASON.format(ids=ids, until=until)
    await context.ecosystem.override(context.tree, context.targets, reason)
    await context.move(context.pins)
    versions = tuple((target.old, target.new) for target in context.targets)
    made = Overruled(versions=versions, reason=reason, until=until)
    return LevelResult(
        frozenset(context.pins), f"Added an override, to be looked at by {until}.", made
    )


def _require_unpinned(context: ClimbContext) -> None:
    """Raise Stuck where the repository pins a release that has to go: no resolver moves that.

    A version alone is a pin where Python's packages or npm's are asked for, and not for all others.
    """
    stated = context.before.find_requirements(context.name)
    if any(own.overrules for own in stated):
        return
    olds = {target.old for target in context.targets}
    alone = context.ecosystem.scheme in (NPM, PYPI)
    for own in stated:
        pinned = own.spec.strip().lstrip("=").strip()
        if pinned in olds and (alone or own.spec.lstrip().startswith("=")):
            raise Stuck(_PINNED.format(own=own, pinned=pinned))


async def _own(context: ClimbContext, *, widen: bool) -> LevelResult:
    if not context.before.find_requirements(context.name):
        raise Stuck(_NOT_OWN.format(name=context.name))
    pins: Mapping[str, str] = context.pins
    changes = await context.ecosystem.require(
        context.tree, context.name, pins[context.name], widen=widen
    )
    if not changes:
        raise Stuck(_ADMITTED)
    await context.ecosystem.relock(context.tree, pins)
    return LevelResult(frozenset(pins), f"{'; '.join(changes)}.")


Rung = Callable[[ClimbContext], Awaitable[LevelResult]]
RUNGS: Mapping[Level, Rung] = {
    Level.FLOAT: float_lock,
    Level.BUMP: bump,
    Level.WIDEN: widen,
    Level.PARENT: parent,
    Level.OVERRIDE: override,
}
"""From the cheapest to the most intrusive."""
