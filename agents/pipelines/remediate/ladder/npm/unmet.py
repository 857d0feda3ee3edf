"""Find where a change of npm's lock file gives a package another release than it asks for.

npm looks for that from the root along its dependencies, and not through the links that lead to
members: below those it takes a lock file as it is, and so does `npm ci`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.files import SECTIONS, Table, pairs, table
from agents.pipelines.remediate.ladder.npm.lock import (
    is_installed,
    name_at,
    remove_at,
    resolve_place,
)
from agents.pipelines.remediate.ladder.npm.manifest import overridden_package

_NEEDED = ("dependencies", "devDependencies")
_PEERS = "peerDependencies"


@dataclass(frozen=True)
class Unmet:
    """What one package asks for, and does not get."""

    above: str
    """Where the package is that asks."""
    name: str
    """What it asks for, as it calls it."""
    place: str
    """Where the copy is that it gets; empty: there is none."""
    words: str


def list_unmet(
    old: Mapping[str, Table],
    new: Mapping[str, Table],
    *,
    overruled: Collection[str] = (),
    peers: bool = True,
) -> Iterator[Unmet]:
    """Yield what is unmet in the new packages of a lock file and was not in the old ones.

    `overruled`: the packages of which the repository itself says which release is taken.
    """
    sections = [each for each in SECTIONS if peers or each != _PEERS]
    for above, package in new.items():
        for section in sections if not package.get("link") else ():
            for name, spec in pairs(package.get(section)):
                asked, place = specs.parse_alias(name, spec), resolve_place(above, name, new) or ""
                same = old.get(above) == package and old.get(place) == new.get(place)
                if (same and place) or asked[0] in overruled or _is_met(asked, place, section, new):
                    continue
                if not _was_unmet(above, name, section, old):
                    version = new[place].get("version") if place else "none"
                    asks = f"{name_at(above, package) or 'The repository'} {package.get('version')}"
                    words = f"{asks} asks for {name} {spec}, and would get {version}."
                    yield Unmet(above, name, place, words)


def remove_for_another(packages: dict[str, Table], unmet: Unmet) -> None:
    """Take a copy out that does not fit, where the one that is looked for next does."""
    without = dict(packages)
    remove_at(without, [unmet.place])
    for section, asked in packages[unmet.above].items():
        spec = table(asked).get(unmet.name) if section in SECTIONS else None
        place = resolve_place(unmet.above, unmet.name, without)
        if isinstance(spec, str) and place:
            if _is_met(specs.parse_alias(unmet.name, spec), place, section, without):
                remove_at(packages, [unmet.place])
            return


def list_overruled(manifest: Table) -> set[str]:
    """Return the packages that `overrides` of a package.json are about, at any depth."""
    found, waiting = set(), [table(manifest.get("overrides"))]
    while waiting:
        for key, value in waiting.pop().items():
            found.add(overridden_package(key))
            waiting.append(table(value))
    return found


def _is_met(
    asked: tuple[str, str], place: str, section: str, packages: Mapping[str, Table]
) -> bool:
    """Return whether there is what is asked for, as far as an index has releases of it."""
    if not place:
        return section not in _NEEDED
    found, (name, wanted) = packages[place], asked
    version = str(found.get("version") or "")
    known = is_installed(place) and version and name_at(place, found) == name
    return not known or not specs.is_range(wanted) or specs.admits(wanted, version)


def _was_unmet(above: str, name: str, section: str, old: Mapping[str, Table]) -> bool:
    before = table(table(old.get(above)).get(section)).get(name)
    if not isinstance(before, str):
        return False
    place = resolve_place(above, name, old) or ""
    return not _is_met(specs.parse_alias(name, before), place, section, old)
