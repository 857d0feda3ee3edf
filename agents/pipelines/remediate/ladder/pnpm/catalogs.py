"""Read catalogs and overrides of a pnpm-workspace.yaml, and change one requirement in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from agents.pipelines.remediate.ladder.files import read_text
from agents.pipelines.remediate.ladder.locked import Own
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.files import Table, pairs, table
from agents.pipelines.remediate.ladder.npm.manifest import (
    describe_change,
    moved_to,
    overridden_package,
)
from agents.pipelines.remediate.ladder.pnpm.yaml_text import load_yaml, replace_scalar
from agents.ports import WorkTree

_OVERRIDES = "overrides"


def list_catalog_requirements(settings: Table, file: str) -> list[Own]:
    """Return every requirement in catalogs and overrides that leads to an index."""
    found = []
    for places, spec in _iterate_catalogs(settings):
        name, wanted = specs.parse_alias(overridden_package(places[-1]), spec)
        if specs.is_range(wanted):
            overrules = places[0] == _OVERRIDES
            found.append(Own(name=name, spec=wanted, file=file, overrules=overrules))
    return found


async def require_catalogued(
    tree: WorkTree, file: str, package: str, goal: Callable[[str], str], *, widen: bool
) -> list[str]:
    """Change the catalogs' requirements on a package so that they admit the goal for their range.

    Returns the changes for people. Raises Stuck where a requirement cannot be changed so.
    """
    text = await read_text(tree, file)
    changes = []
    for places, spec in _iterate_catalogs(load_yaml(text, file)):
        name, wanted = specs.parse_alias(overridden_package(places[-1]), spec)
        version = goal(wanted) if name == package else ""
        moved = moved_to(package, wanted, version, file, widen=widen) if version else None
        if moved:
            text = replace_scalar(text, places, f"{spec.removesuffix(wanted)}{moved}")
            changes.append(describe_change(file, package, moved, wanted))
    if changes:
        await tree.write(file, text.encode())
    return changes


def pin_catalogs(settings: Table, lock: Table, moves: Mapping[tuple[str, str], str]) -> None:
    """Have catalogs ask for the release that what they lead to goes to, by name and old version.

    pnpm's overrides do not reach what is asked for by way of a catalog.
    """
    for catalog, held in table(lock.get("catalogs")).items():
        listed = table(settings.get("catalogs")).get(catalog)
        listed = table(listed or settings.get("catalog") if catalog == "default" else listed)
        for name, spec in pairs(listed):
            version = str(table(table(held).get(name)).get("version")).rpartition("@")[2]
            package, wanted = specs.parse_alias(name, spec)
            if new := moves.get((package, version)):
                listed[name] = f"{spec.removesuffix(wanted)}{new}"


def _iterate_catalogs(settings: Table) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, spec in pairs(settings.get("catalog")):
        yield ("catalog", name), spec
    for catalog, listed in table(settings.get("catalogs")).items():
        for name, spec in pairs(listed):
            yield ("catalogs", catalog, name), spec
    for key, spec in pairs(settings.get(_OVERRIDES)):
        if not key.endswith(f" <{spec.removeprefix('^')}"):  # Fettle's own are looked at again
            yield (_OVERRIDES, key), spec
