"""Tell whether a script of a JavaScript workspace's root takes care of the members, too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_DEEPEST = 4
_ASKS_MEMBERS = re.compile(
    r"--workspaces?\b|--recursive\b|--filter\b|--prefix\b|--scope\b|\bworkspaces?\s+(?:run|foreach)\b"
    r"|(?<!\S)(?:-ws|-r|-w|-C)(?!\S)|\b(?:turbo|nx|lerna|wsrun|wireit|rush|moon|ultra|lage|preconstruct)\b"
)
_TAKES_ALL = re.compile(
    r"\b(?:jest|vitest|ava|eslint|biome|prettier|xo|oxlint|standard|tsc\s+(?:-b|--build))\b"
)
"""Programs that look into all folders below, unless they are told which."""
_TAKES_SOME = re.compile(r"\s(?:\./)?(?:src|lib|tests?|scripts|bin)\b")
_CALLS = re.compile(
    r"\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:-s\s+|--silent\s+)?([\w:.-]+)"
    r"|\b(?:run-[sp]|npm-run-all)\s+([\w:. -]+)"
)


def reaches_members(
    script: str,
    scripts: Mapping[str, object],
    patterns: Sequence[str],
    depth: int = 0,
    *,
    asking: bool = True,
) -> bool:
    """Return whether that script runs something in the members, by itself or by another script.

    `asking`: whether it counts that members are asked to run a script of their own.
    """
    text = scripts.get(script)
    if not isinstance(text, str) or depth > _DEEPEST:
        return False
    folders = {each.removeprefix("./").split("/")[0] for each in patterns} - {"*", "**", ""}
    named = any(re.search(rf"\b{re.escape(each)}/", text) for each in folders)
    takes_all = _TAKES_ALL.search(text) and not _TAKES_SOME.search(text)
    if named or takes_all or (asking and _ASKS_MEMBERS.search(text)):
        return True
    called = [word for found in _CALLS.findall(text) for word in " ".join(found).split()]
    return any(
        reaches_members(each, scripts, patterns, depth + 1, asking=asking)
        for each in called
        if each != script
    )
