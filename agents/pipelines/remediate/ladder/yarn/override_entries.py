"""Plan which `resolutions` overrule what leads to vulnerable copies, and nothing else.

Yarn 3 and 4 overrule a range, as those who ask for it write it. Yarn 1 knows no ranges there, but
the names of those who ask, workspaces among them; what the root asks for it does not overrule.
https://classic.yarnpkg.com/docs/selective-version-resolutions
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from agents.pipelines.remediate.ladder.locked import Locked, Own
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.aim import Aim
from agents.pipelines.remediate.ladder.npm.files import Table
from agents.pipelines.remediate.ladder.values import Stuck
from agents.pipelines.remediate.ladder.yarn import lock as locks
from agents.pipelines.remediate.ladder.yarn.classic_lock import Block, parse_pattern

_RANGE = re.compile(r"[^/@]+")
"""What may stand behind a name in `resolutions`, where a slash leads to another package."""
_PARENT = re.compile(r"(?:@[\w.~-]+/)?[\w.~-]+", re.ASCII)
"""A name that is no pattern to Yarn 1."""

_ADMITTED = "Whatever asks for {name} admits the fix, so there is nothing to overrule."
_ODD = (
    "`{asked}` leads to a vulnerable copy of {name}, and cannot be written in Yarn's `resolutions` "
    "so that it means that alone."
)
_OWN = (
    "`{file}` asks for {name} `{spec}`, and Yarn 1 does not overrule what the root of a repository "
    "asks for. Change it there."
)
_SPLIT = (
    "Yarn 1 overrules what {parent} asks for in all of its releases at once, and they lead to "
    "copies of {name} that go different ways."
)


def plan_entries(lock: Table, locked: Locked, aim: Aim) -> dict[str, str]:
    """Return the entries for a lock file of Yarn 3 or 4; raises Stuck where none would do.

    Yarn 3 compares ranges letter by letter, so that each is written as those write it who ask.
    """
    written: dict[str, dict[str, None]] = {}
    for name, asked in locks.list_asked(lock):
        descriptor = f"{name}@npm:{asked.removeprefix('npm:')}"
        written.setdefault(descriptor, {})[f"{name}@{asked}"] = None
    entries: dict[str, str] = {}
    for descriptor, new in _list_overruled(locked, aim):
        entries |= dict.fromkeys(written.get(descriptor, [descriptor]), f"^{new}")
    return _require_some(entries, aim)


def plan_classic_entries(
    blocks: Sequence[Block], own: Sequence[Own], aim: Aim, workspaces: Mapping[str, str]
) -> dict[str, str]:
    """Return the entries for a lock file of Yarn 1; raises Stuck where they would do too much.

    `workspaces`: the names of the repository's own packages below the root, by their manifests.
    """
    name = aim.package
    mine = [block for block in blocks if block.name == name]
    goals = {p: aim.targets.get((name, b.version), b.version) for b in mine for p in b.patterns}
    vulnerable = [p for b in mine if (name, b.version) in aim.targets for p in b.patterns]
    overruled = {p for p in vulnerable if not specs.admits(parse_pattern(p)[1], goals[p])}
    for pattern in overruled:
        if not pattern.startswith(f"{name}@"):  # it goes by another name there
            raise Stuck(_ODD.format(asked=pattern[:120], name=name))
    asking = [(parent, pattern) for parent, pattern in _list_asking(blocks) if pattern in goals]
    for each in own:
        pattern = f"{each.name}@{each.spec}"
        if each.file in workspaces and pattern in goals:
            asking.append((workspaces[each.file], pattern))
        elif pattern in overruled:
            raise Stuck(_OWN.format(file=each.file, name=name, spec=each.spec))
    return _require_some(_list_by_parent(name, asking, overruled, goals), aim)


def _list_overruled(locked: Locked, aim: Aim) -> Iterator[tuple[str, str]]:
    """Yield each range that leads to a vulnerable copy and does not admit where it has to go."""
    for entry in locked.entries:
        new = aim.find_target(entry)
        for descriptor in locks.list_descriptors(entry.key) if new else ():
            asked = locks.range_of(descriptor)
            if new and not (asked and specs.admits(asked, new)):
                if descriptor != f"{entry.name}@npm:{asked}" or not _RANGE.fullmatch(asked):
                    raise Stuck(_ODD.format(asked=descriptor[:120], name=entry.name))
                yield descriptor, new


def _list_by_parent(
    name: str,
    asking: Sequence[tuple[str, str]],
    overruled: Collection[str],
    goals: Mapping[str, str],
) -> dict[str, str]:
    """Return an entry for each who asks for what is overruled; `asking` are they and all others."""
    ways: dict[str, set[str]] = {}
    for parent, pattern in asking:
        for fits in {parent, parent.rpartition("/")[2]}:  # `**/b/evil` fits `@a/b/evil` as well
            ways.setdefault(fits, set()).add(goals[pattern])
    entries = {}
    for parent in dict.fromkeys(parent for parent, pattern in asking if pattern in overruled):
        if not _PARENT.fullmatch(parent):
            raise Stuck(_ODD.format(asked=f"{parent[:120]}/{name}", name=name))
        if len(ways[parent]) > 1:
            raise Stuck(_SPLIT.format(parent=parent, name=name))
        entries[f"**/{parent}/{name}"] = f"^{min(ways[parent])}"
    return entries


def _require_some(entries: dict[str, str], aim: Aim) -> dict[str, str]:
    if not entries:
        raise Stuck(_ADMITTED.format(name=aim.package))
    return entries


def _list_asking(blocks: Sequence[Block]) -> Iterator[tuple[str, str]]:
    """Yield who asks for which pattern, by each name that it is installed under."""
    for block in blocks:
        for section in block.needs.values():
            for dependency, spec in section.items():
                yield from ((name, f"{dependency}@{spec}") for name in block.names)
