"""What a repository's dependabot.yml says to leave alone.

https://docs.github.com/code-security/dependabot/working-with-dependabot/dependabot-options-reference
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agents.analysis.languages.workspaces import is_member
from agents.pipelines.remediate.ladder import Group, Unfit
from agents.pipelines.remediate.ladder.pnpm.yaml_text import load_yaml
from agents.ports import RunRepository

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


@dataclass(frozen=True)
class DependabotGroups:
    """The groups for security updates of one folder, each with what it takes and leaves out.

    https://docs.github.com/code-security/dependabot/working-with-dependabot/dependabot-options-reference#groups--
    """

    groups: tuple[Mapping[str, object], ...] = ()

    def are_together(self, one: Group, other: Group) -> bool:
        """Return whether one pull request may be about both; without any group, it may."""
        if not self.groups:
            return True
        first = self._find(one)
        return first is not None and first is self._find(other)

    def _find(self, group: Group) -> Mapping[str, object] | None:
        """Return the first group that takes the package, as Dependabot does."""
        return next((each for each in self.groups if _takes(each, group)), None)


async def read_groups(
    source: RunRepository, commit: str, ecosystem: str, directory: str
) -> DependabotGroups:
    """Return the groups of the folder: none without a file that can be read."""
    _, text = await _read(source, commit)
    return DependabotGroups(
        tuple(await asyncio.to_thread(_list_groups, text, ecosystem, directory))
    )


def _list_groups(text: str, ecosystem: str, directory: str) -> list[Mapping[str, object]]:
    found: list[Mapping[str, object]] = []
    for update in _list_updates_of(text, ecosystem, directory):
        groups = update.get("groups")
        found += _tables(list(groups.values()) if isinstance(groups, dict) else ())
    return [each for each in found if each.get("applies-to") == "security-updates"]


def _takes(rules: Mapping[str, object], group: Group) -> bool:
    """Return whether a group's patterns, and kind of dependency, take the package."""
    name = group.package.lower()
    kind = rules.get("dependency-type")
    development = all(each.scope == "development" for each in group.advisories)
    if kind in ("development", "production") and (kind == "development") != development:
        return False
    wanted, unwanted = _words(rules.get("patterns")), _words(rules.get("exclude-patterns"))
    if any(fnmatchcase(name, each) for each in unwanted):
        return False
    return not wanted or any(fnmatchcase(name, each) for each in wanted)


def _words(value: object) -> list[str]:
    return [str(each).lower() for each in value] if isinstance(value, list) else []


async def find_ignored(source: RunRepository, commit: str, group: Group) -> tuple[str, str]:
    """Return the file that says to ignore the group's package, and the name that it does so by.

    Both are empty where none does. An entry about some versions, or kinds of updates, alone does
    not ignore the package. What cannot be read ignores nothing: Dependabot says so itself.
    """
    path, text = await _read(source, commit)
    name = await asyncio.to_thread(_find_pattern, text, group)
    return (path, name) if name else ("", "")


async def list_ignored_versions(
    source: RunRepository, commit: str, group: Group
) -> tuple[str, ...]:
    """Return the ranges of the package's versions that are to be ignored.

    They hold for security updates, too; kinds of updates (`update-types`) hold for version updates
    alone, by Dependabot's own documentation.
    """
    _, text = await _read(source, commit)
    return tuple(await asyncio.to_thread(_list_ranges, text, group))


async def _read(source: RunRepository, commit: str) -> tuple[str, str]:
    """Return the file's path and text; both empty where there is none that can be read."""
    for path in PATHS:
        data = await source.show(commit, path)
        if data is not None and len(data) <= _LIMIT:
            return path, data.decode("utf-8", "replace")
    return "", ""


def _list_ranges(text: str, group: Group) -> list[str]:
    found: list[str] = []
    for update in _list_updates_of(text, group.ecosystem, group.directory):
        for entry in _tables(update.get("ignore")):
            name, ranges = str(entry.get("dependency-name", "")), entry.get("versions")
            if name and fnmatchcase(group.package.lower(), name.lower()):
                found += [str(each) for each in (ranges if isinstance(ranges, list) else [ranges])]
    return [each for each in found if each and each != "None"]


def _find_pattern(text: str, group: Group) -> str:
    for update in _list_updates_of(text, group.ecosystem, group.directory):
        for entry in _tables(update.get("ignore")):
            name = str(entry.get("dependency-name", ""))
            whole = not entry.get("versions") and not entry.get("update-types")
            if name and whole and fnmatchcase(group.package.lower(), name.lower()):
                return name
    return ""


def _list_updates_of(text: str, ecosystem: str, directory: str) -> list[dict[str, object]]:
    """Return the entries about an ecosystem, by GitHub's name of it, in a folder."""
    return [
        update
        for update in _list_updates(text)
        if update.get("package-ecosystem") in _NAMES.get(ecosystem, ())
        and any(_covers(each, directory) for each in _list_directories(update))
    ]


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
    """Return whether an entry's folder is the group's; `*` is one folder, `**` any number."""
    return is_member(
        directory.strip("/"), [f"/{pattern.strip('/')}".removesuffix("/**/*"), pattern]
    )


def _tables(value: object) -> Iterator[dict[str, object]]:
    return (each for each in (value if isinstance(value, list) else ()) if isinstance(each, dict))
