"""Remove Fettle's own override from a pnpm-workspace.yaml in place."""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from agents.pipelines.remediate.ladder.npm.files import Table, table
from agents.pipelines.remediate.ladder.npm.manifest import overridden_package
from agents.pipelines.remediate.ladder.npm.override_removal import CHANGED, is_ours
from agents.pipelines.remediate.ladder.pnpm.yaml_text import load_yaml, to_scalar, with_entries
from agents.pipelines.remediate.ladder.values import Stuck

NAME = "overrides"
_HEAD = re.compile(rf"^{NAME}:[ \t]*(?:#[^\n]*)?\r?\n", re.MULTILINE)


def without_overrides(text: str, file: str, entries: Mapping[str, str], reason: str) -> str | None:
    """Return the text as it was before these were added; None where nothing overrules the package.

    Raises Stuck where people have changed them.
    """
    said = load_yaml(text, file)
    there = table(said.get(NAME))
    if not is_ours(there, dict.fromkeys(entries, reason), entries, reason, file):
        return None
    left = {key: each for key, each in there.items() if key not in entries}
    changed = _cut(text, entries, reason, whole=not left)
    wanted: Table = {key: each for key, each in said.items() if key != NAME}
    wanted |= {NAME: left} if left else {}
    if changed is None or load_yaml(changed, file) != wanted:
        raise Stuck(CHANGED.format(name=overridden_package(min(entries)), file=file))
    return changed


def _cut(text: str, entries: Mapping[str, str], reason: str, *, whole: bool) -> str | None:
    """Return the text without our lines, and without the head of the mapping if it is `whole`."""
    lines = [f"# {' '.join(reason.split())}"]
    lines += [f"{to_scalar(key)}: {to_scalar(value)}" for key, value in entries.items()]
    pattern = "".join(rf"[ \t]*{re.escape(line)}[ \t]*\r?(?:\n|\Z)" for line in lines)
    found = re.search(rf"^{pattern}", text, re.MULTILINE)
    if found is None:
        return None
    rest = f"{text[: found.start()]}{text[found.end() :]}"
    head = _HEAD.search(rest) if whole else None
    if head is None:
        return rest
    before, after = rest[: head.start()], rest[head.end() :]
    tries = (before.removesuffix("\n"), before.removesuffix("\n\n"), before)
    kept = (f"{each}{after}" for each in tries)
    return next((each for each in kept if _gives(each, entries, reason, text)), f"{before}{after}")


def _gives(text: str, entries: Mapping[str, str], reason: str, wanted: str) -> bool:
    try:
        return with_entries(text, NAME, entries, reason) == wanted
    except (Stuck, yaml.YAMLError):
        return False
