"""The levels of the ladder: what each changes, and which packages it moves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from agents.pipelines.remediate.ladder.footing import ClimbContext
from agents.pipelines.remediate.ladder.parents import find_parents_to_move, list_ancestors
from agents.pipelines.remediate.ladder.values import Level, Stuck
from agents.requests import Overruled

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


async def float_lock(footing: ClimbContext) -> LevelResult:
    """Level 0: move the lock file within every requirement."""
    if not footing.ecosystem.locks:
        raise Stuck(_UNLOCKED)
    await footing.move(footing.pins)
    return LevelResult(
        frozenset(footing.pins), "Moved the lock file alone; no requirement changed."
    )


async def bump(footing: ClimbContext) -> LevelResult:
    """Level 1: move the repository's own pin or floor."""
    return await _own(footing, widen=False)


async def widen(footing: ClimbContext) -> LevelResult:
    """Level 2: move the repository's own upper bound."""
    return await _own(footing, widen=True)


async def parent(footing: ClimbContext) -> LevelResult:
    """Level 3: move others to the smallest releases that admit the fix."""
    if not footing.ecosystem.locks:
        raise Stuck(_UNLOCKED)
    found = await find_parents_to_move(footing)
    parents, changes = found.releases, [*found.made.changes] if found.made else []
    pins = {**footing.pins, **parents}
    if found.made:
        await footing.tree.restore(found.made.tree)
    else:
        changes = await footing.move(pins, list_ancestors(footing, parents), widen=True)
    moves = ", ".join(f"{name} to {version}" for name, version in parents.items())
    words = [f"Moved {moves}, the smallest that admits the fix", *changes]
    return LevelResult(frozenset(pins), f"{'; '.join(words)}.")


async def override(footing: ClimbContext) -> LevelResult:
    """Level 4: overrule what other packages ask for, for as long as need be."""
    if not footing.terms.overrides:
        raise Stuck(_NO_OVERRIDES)
    until = footing.terms.today + timedelta(days=footing.terms.override_days)
    ids = "" if footing.group.undisclosed else f"{', '.join(footing.group.ids)}: "
    reason = _REASON.format(ids=ids, until=until)
    await footing.ecosystem.override(footing.tree, footing.targets, reason)
    await footing.move(footing.pins)
    versions = tuple((target.old, target.new) for target in footing.targets)
    made = Overruled(versions=versions, reason=reason, until=until)
    return LevelResult(
        frozenset(footing.pins), f"Added an override, to be looked at by {until}.", made
    )


async def _own(footing: ClimbContext, *, widen: bool) -> LevelResult:
    if not footing.before.find_requirements(footing.name):
        raise Stuck(_NOT_OWN.format(name=footing.name))
    pins: Mapping[str, str] = footing.pins
    changes = await footing.ecosystem.require(
        footing.tree, footing.name, pins[footing.name], widen=widen
    )
    if not changes:
        raise Stuck(_ADMITTED)
    await footing.ecosystem.relock(footing.tree, pins)
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
