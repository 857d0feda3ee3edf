"""Read the requirements of a package.json, and change one in place.

https://docs.npmjs.com/cli/configuring-npm/package-json#overrides
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agents.pipelines.remediate.ladder.files import read_text
from agents.pipelines.remediate.ladder.locked import Own
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.files import (
    MARK,
    SECTIONS,
    Table,
    pairs,
    parse_json,
    table,
)
from agents.pipelines.remediate.ladder.unlocked import Lowest
from agents.pipelines.remediate.ladder.values import Immovable, Stuck, Target
from agents.ports import WorkTree

REASONS = "//overrides"
"""Where reasons stand: JSON has no comments, and npm passes over members that it does not know."""

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\"")
_PART = re.compile(r"(?:@[^/@]+/)?[^/]+")
_DECODER = json.JSONDecoder()
_OBJECT = "`{file}` has something else than an object at `{place}`."
_DOUBLE = "`{file}` overrides {name} already: `{key}`. Look at that entry first."


def list_requirements(manifest: Table, file: str, place: tuple[str, ...] = ()) -> list[Own]:
    """Return every requirement of a package.json that leads to an index.

    `place`: where it overrules what other packages ask for, if its tool heeds that.
    """
    return [
        Own(name=name, spec=wanted, file=file, overrules=names[:-1] == place)
        for names, name, wanted, _ in _list_stated(manifest, place)
        if specs.is_range(wanted)
    ]


def _list_stated(
    manifest: Table, place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str, str, str]]:
    """Yield where each requirement stands, the package, the range, and the range as written.

    Entries with a reason beside them are Fettle's own: they are looked at again by themselves.
    """
    for section in SECTIONS:
        for key, spec in pairs(manifest.get(section)):
            yield (section, key), *specs.parse_alias(key, spec), spec
    there = manifest if place else {}
    for part in place:
        there = table(there.get(part))
    for key, spec in pairs(there):
        if key not in table(manifest.get(REASONS)):
            yield (*place, key), *specs.parse_alias(overridden_package(key), spec), spec


def list_lowest(manifest: Table, file: str) -> list[Lowest]:
    """Return the same with the lowest version that each names."""
    return [(own, specs.floor(own.spec)) for own in list_requirements(manifest, file)]


async def require(
    tree: WorkTree,
    file: str,
    package: str,
    goal: Callable[[str], str],
    *,
    widen: bool,
    locked: bool = True,
    place: tuple[str, ...] = (),
) -> list[str]:
    """Change the file's requirements on a package so that they admit the goal for their range.

    Where it is not `locked`, they admit nothing older either. `place`: where the file overrules
    what other packages ask for. Returns the changes for people.
    Raises Stuck where a requirement cannot be changed so.
    """
    text = await read_text(tree, file)
    manifest = await asyncio.to_thread(parse_json, text, file)
    changes = []
    move = moved_to if locked else raised_to
    for names, name, wanted, spec in _list_stated(manifest, place):
        version = goal(wanted) if name == package else ""
        moved = move(package, wanted, version, file, widen=widen) if version else None
        if moved:
            text = replace_value(text, names, f"{spec.removesuffix(wanted)}{moved}")
            changes.append(describe_change(file, package, moved, wanted))
    if changes:
        await tree.write(file, text.encode())
    return changes


def moved_to(package: str, wanted: str, version: str, file: str, *, widen: bool) -> str | None:
    """Return the range to ask for instead; None where nothing has to change. Raises Stuck."""
    if not specs.is_range(wanted) or specs.admits(wanted, version):
        return None
    moved = (specs.widen_range if widen else specs.bump_pin)(wanted, version)
    return _require_moved(moved, f"{package} {wanted}", version, file, widen=widen)


def raised_to(package: str, wanted: str, version: str, file: str, *, widen: bool) -> str | None:
    """Return the range to ask for instead where no lock file decides: it begins at the version.

    None where nothing has to change. Raises Stuck.
    """
    if not specs.is_range(wanted) or specs.begins_at(wanted, version):
        return None
    moved = (specs.widen_and_raise if widen else specs.raise_floor)(wanted, version)
    return _require_moved(moved, f"{package} {wanted}", version, file, widen=widen)


def _require_moved(moved: str | None, asked: str, version: str, file: str, *, widen: bool) -> str:
    """Return the range; raises Stuck where there is none, or it does not admit the version."""
    if moved is None or not specs.admits(moved, version):
        raise Immovable(file, asked, version, widen=widen)
    return moved


def describe_change(file: str, package: str, moved: str, wanted: str) -> str:
    """Return a change for people."""
    return f"`{file}` asks for {package} `{moved}`, not `{wanted}`"


def entries_of(targets: Sequence[Target]) -> dict[str, str]:
    """Return the overrides that these make, for the versions from the old up to the new alone."""
    return {f"{each.name}@>={each.old} <{each.new}": f"^{each.new}" for each in targets}


async def add_overrides(
    tree: WorkTree, file: str, place: tuple[str, ...], entries: Mapping[str, str], reason: str
) -> None:
    """Add entries to the overrides at a place of a package.json, and the reason beside them."""
    text = await read_text(tree, file)
    whole = await asyncio.to_thread(parse_json, text, file)
    manifest: Any = whole
    for name in place:
        manifest = manifest.get(name, {})
        if not isinstance(manifest, dict):
            raise Stuck(_OBJECT.format(file=file, place=".".join(place)))
    if not isinstance(whole.get(REASONS, {}), dict):
        raise Stuck(_OBJECT.format(file=file, place=REASONS))
    require_new(manifest, entries, file)
    text = with_members(text, place, entries)
    text = with_members(text, (REASONS,), dict.fromkeys(entries, reason))
    await tree.write(file, text.encode())


def require_new(there: Table, entries: Mapping[str, str], file: str) -> None:
    """Raise Stuck when people have overridden one of these packages themselves."""
    names = {overridden_package(key) for key in entries}
    for key in there:
        if overridden_package(key) in names:
            raise Stuck(_DOUBLE.format(file=file, name=overridden_package(key), key=key))


def with_members(text: str, names: tuple[str, ...], new: Mapping[str, Any]) -> str:
    """Return the text with members added to the object at these names, made if need be."""
    found = place_of(text, names)
    if found is None:
        return with_members(text, names[:-1], {names[-1]: dict(new)})
    start, end = found
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = match[1] if (match := _INDENT.search(text)) else "  "
    before = newline + indent * (len(names) + 1)
    added = ",".join(
        f"{before}{_to_json(key)}: {_to_json(value, indent).replace(chr(10), before)}"
        for key, value in new.items()
    )
    there = list(members(text, start))
    if there:
        last = there[-1][2]
        return f"{text[:last]},{added}{text[last:]}"
    return f"{text[:start]}{{{added}{newline}{indent * len(names)}}}{text[end:]}"


def overridden_package(key: str) -> str:
    """Return which package the key of an override is about, without range and parents.

    Those stand before `>`, and before `/` where Yarn reads it.
    """
    last = key.rpartition(">")[2] if re.search(r"[^<=\s@:|]>[^=]", key) else key
    if "//" not in last:  # which an address has, and no way of Yarn's
        last = str([last, *_PART.findall(last)][-1])
    return last[:1] + last[1:].partition("@")[0]


def replace_value(text: str, names: tuple[str, ...], value: str) -> str:
    """Return the text with another value at these names; all else stays as it is written."""
    found = place_of(text, names)
    return f"{text[: found[0]]}{_to_json(value)}{text[found[1] :]}" if found else text


def place_of(text: str, names: tuple[str, ...]) -> tuple[int, int] | None:
    """Return where the value at these names begins and ends; the last counts, as it does in npm."""
    start = skip_spaces(text, len(MARK) if text.startswith(MARK) else 0)
    found = (start, len(text.rstrip()))
    for name in names:
        if text[found[0]] != "{":
            return None
        named = [(at, end) for key, at, end in members(text, found[0]) if key == name]
        if not named:
            return None
        found = named[-1]
    return found


def members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Yield the keys of an object, and where their values begin and end; the text is valid."""
    at = skip_spaces(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = skip_spaces(text, skip_spaces(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield key, start, end
        at = skip_spaces(text, end)
        at = skip_spaces(text, at + 1) if text[at] == "," else at


def skip_spaces(text: str, at: int) -> int:
    """Return where the next thing that is no space begins."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _to_json(value: Any, indent: str | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
