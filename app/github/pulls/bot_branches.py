"""Tell from the documented branch names of other bots which package their pull requests update.

https://docs.github.com/code-security/dependabot/working-with-dependabot/dependabot-options-reference
(`pull-request-branch-name.separator`) and https://docs.renovatebot.com/configuration-templates/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.github.transport.bot_identity import DEPENDABOT, RENOVATE

READ = 20_000
"""Characters of a description that are searched for a bot's list of updates."""

_TOOLS: Mapping[str, tuple[str, ...]] = {
    "actions": ("github_actions",),
    "composer": ("composer",),
    "erlang": ("hex",),
    "go": ("go_modules",),
    "maven": ("maven", "gradle"),
    "npm": ("npm_and_yarn", "bun"),
    "nuget": ("nuget",),
    "pip": ("pip", "uv", "conda"),
    "pub": ("pub",),
    "rubygems": ("bundler",),
    "rust": ("cargo",),
    "swift": ("swift",),
}
"""Dependabot's names of package tools, by ecosystem."""

# What stands behind a name: a version, or a requirement with its signs spelled out.
_VERSION = r"(?:v?[0-9]|-removed|(?:gte|lte|gt|lt|tw|eq|neq|approx)-)"
_GROUPED = re.compile(r"(?:multi|[a-z0-9][a-z0-9_.-]*)-[0-9a-f]{7,}", re.IGNORECASE)


@dataclass(frozen=True)
class SoughtPackage:
    """A package in a folder, whose pull requests are looked for."""

    ecosystem: str
    """GitHub's name for it."""
    package: str
    directory: str
    """The manifest's folder; empty: the repository's root."""


def is_moving(author: str, branch: str, base: str, words: str, sought: SoughtPackage) -> bool:
    """Tell whether this bot's pull request updates the package in the folder.

    `words` are title and description, where an update of a group lists its members.
    """
    if author in DEPENDABOT:
        return any(
            _leads(rest, sought, separator)
            or (_GROUPED.fullmatch(rest) and is_naming(words, sought))
            for rest, separator in _parse_branch(branch, base, sought)
        )
    if author in RENOVATE and branch.startswith("renovate/"):
        return _topic(branch.removeprefix("renovate/"), sought) or is_naming(words, sought)
    return False


def is_naming(words: str, sought: SoughtPackage) -> bool:
    """Tell whether a sentence or table that only the bot writes names the package."""
    name = re.escape(sought.package)
    said = re.compile(
        rf"\b(?:bumps?|updates?)\s+(?:the\s+)?(?:dependency\s+|module\s+|requirement\s+)?"
        rf"[\[`]?{name}[\]`]?(?![\w/-]|\.\w)|^\|\s*\[?`?{name}`?\]?(?=[\s(|])",
        re.IGNORECASE | re.MULTILINE,
    )
    return said.search(words[:READ]) is not None


def _parse_branch(branch: str, base: str, sought: SoughtPackage) -> Iterator[tuple[str, str]]:
    """Yield what follows tool, folder and, where it names it, the base; with the separator."""
    for separator in "/-_":
        for tool in _TOOLS.get(sought.ecosystem, ()):
            start = f"dependabot{separator}{tool}{separator}"
            if not branch.lower().startswith(start):
                continue
            rest = branch[len(start) :]
            folder = sought.directory.replace(" ", "-").replace("/", separator)
            target = base.replace("/", separator)
            for parts in ((folder, target), (folder,)):
                before = "".join(f"{part}{separator}" for part in parts if part)
                if rest.lower().startswith(before.lower()):
                    yield rest[len(before) :], separator


def _leads(rest: str, sought: SoughtPackage, separator: str) -> bool:
    """Tell whether it is the package, alone or with others, and a version."""
    plain = re.sub(r"[:\[\]]", "-", sought.package).replace("@", "").replace("/", separator)
    name = re.escape(plain)
    pattern = rf"(?:.*-and-)?{name}-(?:{_VERSION}|and-)"
    return re.match(pattern, rest, re.IGNORECASE) is not None


def _topic(topic: str, sought: SoughtPackage) -> bool:
    """Tell whether Renovate named the branch for this package alone."""
    plain = re.sub(r"[/: ]", "-", sought.package.replace("@types/", "").replace("@", ""))
    name = re.escape(plain.lower())
    single = rf"{name}-v?[0-9][\w.]*(?:-lockfile)?|[a-z]+-{name}-vulnerability"
    return re.fullmatch(single, topic.lower()) is not None
