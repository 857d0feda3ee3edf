"""What a repository's dependabot.yml says to leave alone.

https://docs.github.com/code-security/dependabot/working-with-dependabot/dependabot-options-reference
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from fnmatch import fnmatchcase

from agents.pipelines.remediate.ladder import Group, Unfit
from agents.pipelines.remediate.ladder.pnpm.yaml_text import load_yaml
from agents.ports import Source

PATHS = (".github/dependabot.yml", ".github/dependabot.yaml")
_LIMIT = 100_000
_NAMES = {
    "pip": ("pip", "uv"),
    "npm": ("npm", "bun"),
    "go": ("gomod",),
    "rust": ("cargo",),
    "rubygems": ("bundler",),
    "composer": ("composer",),
    "maven": ("maven", "gradle"),
    "nuget": ("nuget",),
    "pub": ("pub",),
    "erlang": ("mix",),
    "swift": ("swift",),
    "actions": ("github-actions",),
}
"""Dependabot's names of ecosystems, by those of GitHub's alerts."""


async def find_ignored(source: Source, commit: str, group: Group) -> tuple[str, str]:
    """Return the file that says to ignore the group's package, and the name that it does so by.

    Both are empty where none does. An entry about some versions, or kinds of updates, alone does
    not ignore the package. What cannot be read ignores nothing: Dependabot says so itself.
    """
    for path in PATHS:
        data = await source.show(commit, path)
        if data is not None and len(data) <= _LIMIT:
            text = data.decode("utf-8", "replace")
            name = await asyncio.to_thread(_find_pattern, text, group)
            return (path, name) if name else ("", "")
    return "", ""


def _find_pattern(text: str, group: Group) -> str:
    for update in _list_updates(text):
        if update.get("package-ecosystem") not in _NAMES.get(group.ecosystem, ()):
            continue
        if not any(_covers(each, group.directory) for each in _list_directories(update)):
            continue
        for entry in _tables(update.get("ignore")):
            name = str(entry.get("dependency-name", ""))
            whole = not entry.get("versions") and not entry.get("update-types")
            if name and whole and fnmatchcase(group.package.lower(), name.lower()):
                return name
    return ""


def _list_updates(text: str) -> list[dict[str, object]]:
    """Return the entries; none for what cannot be read."""
    try:
        return list(_tables(load_yaml(text, PATHS[0]).get("updates")))
    except Unfit:
        return []


def _list_directories(update: dict[str, object]) -> list[str]:
    several = update.get("directories")
    listed = several if isinstance(several, list) else [update.get("directory", "/")]
    return [str(each) for each in listed]


def _covers(pattern: str, directory: str) -> bool:
    """Return whether an entry's folder, which may have wildcards, is the group's."""
    wanted = f"/{directory.strip('/')}"
    plain = f"/{pattern.strip('/')}".removesuffix("/*")
    if plain.endswith("/**"):
        above = plain.removesuffix("/**")
        return wanted == (above or "/") or wanted.startswith(f"{above}/")
    return fnmatchcase(wanted, f"/{pattern.strip('/')}")


def _tables(value: object) -> Iterator[dict[str, object]]:
    return (each for each in (value if isinstance(value, list) else ()) if isinstance(each, dict))
