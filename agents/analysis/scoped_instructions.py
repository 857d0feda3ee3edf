"""Instructions for some of a repository's files: Cursor's rules, Copilot's instruction files.

Each file says at its top for which paths it holds. Where it says nothing, or leaves it to the
editor's model, nobody can tell here, and it does not.

https://docs.cursor.com/en/context/rules
https://docs.github.com/copilot/how-tos/configure-custom-instructions/add-repository-instructions
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from agents.policy import matches_path

_FILES = re.compile(
    r"(?:(?P<folder>.+)/)?\.cursor/rules/.+\.mdc|\.github/instructions/.+\.instructions\.md"
)
_HEAD = re.compile(r"\s*---[^\S\n]*\n(?P<head>.*?)\n---[^\S\n]*(?:\n|\Z)(?P<body>.*)", re.DOTALL)
_KEY = re.compile(r"(?P<key>[A-Za-z]+):(?P<value>.*)")
_ITEM = re.compile(r"\s*-\s+(?P<value>.+)")
_PATHS = ("globs", "applyTo")
_EVERYWHERE = ("*", "**", "**/*")
MOST_PATTERNS = 40


@dataclass(frozen=True)
class ScopedInstructions:
    """One such file."""

    path: str
    folder: str
    """What its patterns are relative to; empty for the root."""
    patterns: tuple[str, ...]
    always: bool
    """It holds for whatever is done in its folder."""
    text: str

    def holds_for(self, touched: Iterable[str]) -> bool:
        """Tell whether it holds for work on these paths."""
        if self.holds_for_all:
            return True
        start = f"{self.folder}/" if self.folder else ""
        inside = [path.removeprefix(start) for path in touched if path.startswith(start)]
        if self.always:
            return bool(inside)
        return any(matches_path(pattern, path) for pattern in self.patterns for path in inside)

    @property
    def holds_for_all(self) -> bool:
        """Tell whether it holds for all that is done in the repository."""
        return self.always and not self.folder


def list_scoped(paths: Iterable[str], touched: Collection[str]) -> list[str]:
    """Return the files among the paths that could hold for work on the touched ones, sorted."""
    found = []
    for path in paths:
        if (named := _FILES.fullmatch(path)) is None:
            continue
        folder = named["folder"]
        if not folder or any(each.startswith(f"{folder}/") for each in touched):
            found.append(path)
    return sorted(found)


def read_scoped(path: str, text: str) -> ScopedInstructions:
    """Return what the file says, and for which paths; its text may be anything."""
    named = _FILES.fullmatch(path)
    folder = (named and named["folder"]) or ""
    found = _HEAD.match(text)
    if found is None:
        return ScopedInstructions(path, folder, (), False, text.strip())
    patterns, always, key = [], False, ""
    for line in found["head"].splitlines():
        if pair := _KEY.fullmatch(line):
            key, value = pair["key"], pair["value"]
            always = always or (key == "alwaysApply" and value.strip().lower() == "true")
        elif item := _ITEM.fullmatch(line):
            value = item["value"]
        else:
            continue
        if key in _PATHS:
            patterns += _split(value)
    always = always or any(pattern in _EVERYWHERE for pattern in patterns)
    kept = tuple(patterns[:MOST_PATTERNS])
    return ScopedInstructions(path, folder, kept, always, found["body"].strip())


def _split(value: str) -> list[str]:
    """Return the patterns of a value: `*.ts,src/**`, `"**/*.py"` or `[a, b]`."""
    parts = (part.strip(" \t\"'") for part in value.strip().strip("[]").split(","))
    return [part for part in parts if part]
