"""Ranges of a tool's versions, as version files and manifests write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion
from packaging.version import Version as PythonVersion
from semantic_version import NpmSpec
from semantic_version import Version as NpmVersion

Style = Literal["python", "npm"]

LONGEST = 200  # characters of a range; whatever is longer is none
LINE_PARTS = {"node": 1, "java": 1, "pnpm": 1, "yarn": 1}
"""How many numbers name a line of releases that keeps its promises; two where nothing is said."""

_PLAIN = re.compile(r"v?(\d{1,4}(?:\.\d{1,5}){0,3})")
_SPACED = re.compile(r"(>=|<=|>|<|=|\^|~>|~)\s+")
_LETTER = re.compile(r"(?<![^\s=<>~^|])v(?=\d)")
_NUMBERS = re.compile(r"\d{1,4}(?:\.\d{1,5}){0,3}")
_MINORS, _PATCHES = range(41), (0, 9, 99)


@dataclass(frozen=True)
class VersionRange:
    """Versions of one tool that will do."""

    spec: str
    """Normalised, as `packaging` or npm's own rules read it."""
    style: Style = "python"
    text: str = ""
    """As the file writes it, for people."""

    def fits(self, version: str) -> bool:
        """Tell whether this version will do; what is no version does not."""
        try:
            if self.style == "npm":
                return bool(_parse_npm(self.spec).match(NpmVersion.coerce(version)))
            return _parse_python(self.spec).contains(PythonVersion(version), prereleases=True)
        except (ValueError, InvalidVersion):
            return False

    @property
    def prefix(self) -> str:
        """Return the numbers of a range that only names a version, like `3.13`, or nothing."""
        found = re.fullmatch(r"==(\d+(?:\.\d+)*?)(?:\.\*)?", self.spec)
        return found[1] if found and self.style == "python" else ""

    @property
    def mentioned(self) -> Iterator[str]:
        """Yield the versions that stand in it."""
        return (found[0] for found in _NUMBERS.finditer(self.spec))


ANY = VersionRange("")


def name_version(text: str, *, parts: int = 4) -> VersionRange | None:
    """Return the range of a version's name: `3.13` means all of its releases, `3.13.1` one."""
    found = _PLAIN.fullmatch(text.strip()[:LONGEST])
    if found is None:
        return None
    numbers = [str(int(number)) for number in found[1].split(".")][:parts]
    whole = len(numbers) > 2  # major, minor and patch name one release
    return VersionRange(f"=={'.'.join(numbers)}{'' if whole else '.*'}", text=text.strip())


def at_least(text: str) -> VersionRange | None:
    """Return the range of this version and all later ones."""
    found = _PLAIN.fullmatch(text.strip()[:LONGEST])
    return VersionRange(f">={found[1]}", text=f">={found[1]}") if found else None


def python_range(text: str) -> VersionRange | None:
    """Return a range of Python's versions, or of Poetry's, which knows `^` as npm does.

    https://packaging.python.org/en/latest/specifications/version-specifiers/
    https://python-poetry.org/docs/dependency-specification/
    """
    made = VersionRange(text.strip(), text=text.strip())
    try:
        if len(text) <= LONGEST:
            _parse_python(made.spec)
            return made
    except ValueError:
        return npm_range(text.replace(",", " ")) or name_version(text)
    return None


def npm_range(text: str) -> VersionRange | None:
    """Return a range as package.json writes it.

    https://github.com/npm/node-semver#ranges
    """
    if len(text) > LONGEST:
        return None
    spec = _LETTER.sub("", _SPACED.sub(r"\1", text)).replace("~>", "~").strip()
    plain = name_version(spec.removeprefix("="))
    if plain is not None:
        return VersionRange(plain.spec, text=text.strip())
    try:
        _parse_npm(spec)
    except ValueError:
        return None
    return VersionRange(spec, "npm", text.strip())


def line_of(tool: str, version: str) -> str:
    """Return the line of releases that a version belongs to: `22` of Node, `3.13` of Python."""
    return ".".join(version.split(".")[: LINE_PARTS.get(tool, 2)])


def could_fit(tool: str, line: str, ranges: tuple[VersionRange, ...]) -> bool:
    """Tell whether a release of this line may fit all of the ranges: nobody lists them here."""
    named = (each.prefix for each in ranges if line_of(tool, each.prefix) == line)
    return any(
        all(each.fits(version) for each in ranges)
        for version in (*named, *_releases(line, LINE_PARTS.get(tool, 2)))
    )


def _releases(line: str, parts: int) -> Iterator[str]:
    for minor in _MINORS:
        if parts > 1:
            yield f"{line}.{minor}"
        else:
            yield from (f"{line}.{minor}.{patch}" for patch in _PATCHES)
    if parts > 1:
        yield from (f"{line}.{patch}" for patch in (99, 100, 200, 300, 400, 999))


@lru_cache(512)
def _parse_npm(spec: str) -> NpmSpec:
    return NpmSpec(spec)


@lru_cache(512)
def _parse_python(spec: str) -> SpecifierSet:
    try:
        return SpecifierSet(spec)
    except InvalidSpecifier as error:
        raise ValueError(str(error)) from error
