"""Level 3: find the smallest releases of parent packages that admit the fix."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from agents.pipelines.remediate.ladder.climb_context import REJECTED, ClimbContext, TrialMove
from agents.pipelines.remediate.ladder.ecosystem import ListsRequirements, explain_other_index
from agents.pipelines.remediate.ladder.values import Stuck

MOST_PARENTS = 6

_NO_PARENT = "No other package of the lock file needs {name}, so none is in its way."
_UNTOLD = "{tool}'s lock file does not say which package needs which, so no parent can be moved."
_MANY = "{count} packages need {name}; Fettle searches releases of at most {most} at once."
_NONE = (
    "No newer release of {parents} that may be taken admits {name} {version}, or other packages "
    "hold them back."
)
_LIMIT = "The search for releases that admit the fix reached its limit of {tries} tries."


@dataclass(frozen=True)
class ParentMoves:
    """Which packages have to move, and to which releases."""

    releases: Mapping[str, str]
    made: TrialMove | None
    """What moving them makes, if that was the last that was tried."""


async def find_parents_to_move(context: ClimbContext) -> ParentMoves:
    """Return which packages have to move to which releases. Raises Stuck when none do."""
    parents = context.before.parents(context.name)
    if not context.before.tells_needs:
        raise Stuck(_UNTOLD.format(tool=context.ecosystem.tool))
    if not parents:
        raise Stuck(_NO_PARENT.format(name=context.name))
    if len(parents) > MOST_PARENTS:
        raise Stuck(_MANY.format(count=len(parents), name=context.name, most=MOST_PARENTS))
    await _require_configured_indexes(context, parents)
    admitting = {name: await _list_admitting(context, name) for name in parents}
    releases = {name: await _releases(context, name) for name in parents}
    search = _Search(context, releases, admitting)
    found = await search.smallest()
    return ParentMoves(found, search.made if search.tried == found else None)


def list_ancestors(context: ClimbContext, parents: Mapping[str, str]) -> tuple[str, ...]:
    """Return who may move along: what holds the parents back themselves."""
    names = [name for parent in parents for name in context.before.ancestors(parent)]
    return tuple(dict.fromkeys(name for name in names if name not in parents))


async def _require_configured_indexes(context: ClimbContext, parents: Collection[str]) -> None:
    """Raise Stuck where a package that may have to move comes from an index not configured here.

    The public index must not even learn the names of private packages.
    """
    above = [name for parent in parents for name in context.before.ancestors(parent)]
    for name in dict.fromkeys((*parents, *above)):
        other = await explain_other_index(context.tree, context.ecosystem, context.before, name)
        if other:
            raise Stuck(other)


async def _list_admitting(context: ClimbContext, name: str) -> Collection[str] | None:
    """Return the releases of a parent that say of themselves that they admit the fix.

    None where the index does not tell: the resolver is asked about each then.
    """
    [version] = context.pins.values()
    if not isinstance(context.ecosystem, ListsRequirements):
        return None
    try:
        return await context.ecosystem.list_admitting(context.tree, name, context.name, version)
    except Stuck:
        return None


async def _releases(context: ClimbContext, name: str) -> list[str]:
    """Return the releases that a parent could move to, oldest first."""
    scheme = context.ecosystem.scheme
    old = scheme.order(copy.version for copy in context.before.copies(name))
    if not old:
        return []
    newer = [
        version
        for version in scheme.order(set(await context.ecosystem.available(context.tree, name)))
        if scheme.newer(version, old[-1])
        and not scheme.is_prerelease(version)
        and (context.terms.majors or scheme.delta(old[-1], version) != "major")
    ]
    return await _without_rejected(context, name, newer)


async def _without_rejected(context: ClimbContext, name: str, newer: list[str]) -> list[str]:
    """Leave out the newest releases that must not be taken; the others are asked about later."""
    for _ in range(REJECTED):
        if not newer or not await context.ecosystem.objection(context.tree, name, newer[-1]):
            return newer
        newer = newer[:-1]
    return []


@dataclass
class _Search:
    """Asks the resolver which releases are enough."""

    context: ClimbContext
    releases: Mapping[str, Sequence[str]]
    admitting: Mapping[str, Collection[str] | None]
    tries: int = field(default=0)
    tried: Mapping[str, str] = field(default_factory=dict)
    """What was tried last."""
    made: TrialMove | None = None
    """What that made, if it was enough."""

    async def smallest(self) -> dict[str, str]:
        guessed = await self._guess()
        if guessed and await self._is_enough(guessed):
            return guessed
        chosen = {name: found[-1] for name, found in self.releases.items() if found}
        if not chosen or not await self._is_enough(chosen):
            raise Stuck(self._explain_failure())
        for name in list(chosen):
            others = {other: version for other, version in chosen.items() if other != name}
            if others and await self._is_enough(others):
                chosen = others
        for name in chosen:
            chosen[name] = await self._first(name, chosen)
        return chosen

    async def _guess(self) -> dict[str, str]:
        """Return what is enough by what releases say of themselves; nothing where they do not."""
        guessed = {}
        for name, admitting in self.admitting.items():
            if admitting is None:
                return {}
            copies = self.context.before.copies(name)
            if all(copy.version in admitting for copy in copies):
                continue  # it is not in the way
            admitted = [version for version in self.releases[name] if version in admitting]
            if not admitted:
                return {}
            guessed[name] = await self._choose_release(name, admitted, {name: admitted[-1]})
        return guessed

    async def _first(self, name: str, chosen: Mapping[str, str]) -> str:
        """Return the first release that is enough, supposing that all after it are as well."""
        releases = self.releases[name]
        low, high = 0, len(releases) - 1
        while low < high:
            middle = (low + high) // 2
            if await self._is_enough({**chosen, name: releases[middle]}):
                high = middle
            else:
                low = middle + 1
        return await self._choose_release(name, releases[high:], chosen)

    async def _choose_release(
        self, name: str, releases: Sequence[str], chosen: Mapping[str, str]
    ) -> str:
        """Return the first of these that nothing speaks against."""
        for version in releases[:REJECTED]:
            if not await self.context.ecosystem.objection(self.context.tree, name, version):
                return version
        return chosen[name]

    async def _is_enough(self, parents: Mapping[str, str]) -> bool:
        self.tries += 1
        if self.tries > self.context.terms.tries:
            raise Stuck(_LIMIT.format(tries=self.context.terms.tries))
        pins = {**self.context.pins, **parents}
        above = list_ancestors(self.context, parents)
        self.tried = dict(parents)
        self.made = await self.context.try_to_move(pins, above, widen=True)
        return self.made is not None

    def _explain_failure(self) -> str:
        [version] = self.context.pins.values()
        parents = ", ".join(self.releases)
        return _NONE.format(parents=parents, name=self.context.name, version=version)
