"""Remove Fettle's own override from a package.json in place."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping

from agents.pipelines.remediate.ladder.files import read_text
from agents.pipelines.remediate.ladder.npm.files import Table, parse_json, table
from agents.pipelines.remediate.ladder.npm.manifest import (
    REASONS,
    members,
    overridden_package,
    place_of,
    skip_spaces,
)
from agents.pipelines.remediate.ladder.values import Stuck
from agents.ports import WorkTree

CHANGED = (
    "The override of {name} in `{file}` is not as Fettle wrote it: somebody has changed it, so it "
    "is theirs, and Fettle leaves it alone."
)
_TWICE = "`{file}` has members of the same name, so the override cannot be taken out of it alone."


def is_ours(
    there: Table, said: Mapping[str, object], entries: Mapping[str, str], reason: str, file: str
) -> bool:
    """Return whether these overrides hold our entries; False where none is about the package.

    `said`: the reason beside each. Raises Stuck for anything else: people have changed it.
    """
    names = {overridden_package(key) for key in entries}
    about = {key: value for key, value in there.items() if overridden_package(key) in names}
    if not about:
        return False
    if about != dict(entries) or any(said.get(key) != reason for key in entries):
        raise Stuck(CHANGED.format(name=min(names), file=file))
    return True


async def has_overrides(
    tree: WorkTree, file: str, place: tuple[str, ...], entries: Mapping[str, str], reason: str
) -> bool:
    """Return whether our entries stand at that place of a package.json.

    Raises Stuck where people have changed them.
    """
    manifest = await asyncio.to_thread(parse_json, await read_text(tree, file), file)
    there = manifest
    for name in place:
        there = table(there.get(name))
    return is_ours(there, table(manifest.get(REASONS)), entries, reason, file)


async def take_out(
    tree: WorkTree, file: str, place: tuple[str, ...], entries: Mapping[str, str]
) -> None:
    """Take entries out, and the reasons beside them, which are known to be there."""
    text = await read_text(tree, file)
    changed = await asyncio.to_thread(_remove_entries, text, file, place, tuple(entries))
    await tree.write(file, changed.encode())


def without_member(text: str, names: tuple[str, ...]) -> str:
    """Return the text without the member at these names; an object left empty goes with it."""
    found = place_of(text, names[:-1])
    assert found is not None, "it was read from there"
    start, end = found
    every = list(members(text, start))
    if len(every) == 1:
        if len(names) > 1:
            return without_member(text, names[:-1])
        return f"{text[:start]}{{}}{text[end:]}"
    at = max(number for number, (key, _, _) in enumerate(every) if key == names[-1])
    if at:
        return f"{text[: every[at - 1][2]]}{text[every[at][2] :]}"
    second = skip_spaces(text, skip_spaces(text, every[0][2]) + 1)
    return f"{text[: skip_spaces(text, start + 1)]}{text[second:]}"


def _remove_entries(text: str, file: str, place: tuple[str, ...], keys: tuple[str, ...]) -> str:
    wanted = copy.deepcopy(parse_json(text, file))
    for key in keys:
        for names in ((*place, key), (REASONS, key)):
            text = without_member(text, names)
            _drop(wanted, names)
    if parse_json(text, file) != wanted:
        raise Stuck(_TWICE.format(file=file))
    return text


def _drop(holder: Table, names: tuple[str, ...]) -> None:
    if len(names) > 1:
        _drop(holder[names[0]], names[1:])
        if holder[names[0]]:
            return
    del holder[names[0]]
