"""Vulnerable ranges: test a version, and find the smallest safe one."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import SpecifierSet
from univers.version_constraint import VersionConstraint
from univers.version_range import (
    GemVersionRange,
    NpmVersionRange,
    VersionRange,
    build_range_from_github_advisory_constraint,
)
from univers.versions import PypiVersion, RubygemsVersion, SemverVersion, Version

from agents.pipelines.remediate.ladder.values import Delta, Unfit
from agents.ports import Advisory

LONGEST = 100  # characters of a version: comparing numbers of a million digits takes minutes


_BREAKING_BEFORE_1 = ("npm", "cargo")
_YEARS = range(1990, 2100)
_BOUND = re.compile(r"(<=|>=|<|>|=|!=)\s*(\S+)")


class NumberedVersion(Version):
    """A version of an ecosystem that univers does not order as its own tool does."""

    @abstractmethod
    def list_numbers(self) -> tuple[int, ...]:
        """Return its numbers, without what says of which stage it is."""

    @abstractmethod
    def is_unstable(self) -> bool:
        """Return whether it comes before the release of its numbers."""


@dataclass(frozen=True)
class Scheme:
    """How an ecosystem writes its versions."""

    name: str
    """The name that univers, and Package URLs, know it by."""
    version: type[Version]
    range: type[VersionRange] | None = None
    """What holds such versions, where that is not univers' own."""
    requirement: Callable[[str, str], bool] | None = None
    """Tells whether a requirement takes a version, where univers knows no syntax of it."""

    def parse(self, text: str) -> Version | None:
        """Return the version, or None for what is none."""
        try:
            return self.version(text) if 0 < len(text) <= LONGEST else None
        except ValueError:
            return None

    def release(self, text: str) -> tuple[int, ...]:
        """Return its numbers, like (3, 1, 4); empty for what is no version."""
        version = self.parse(text)
        match version:
            case NumberedVersion():
                return (0, *version.list_numbers())
            case PypiVersion():
                return (version.value.epoch, *version.value.release)
            case SemverVersion():
                return (0, version.major, version.minor, version.patch)
            case RubygemsVersion():
                return (0, *(part for part in version.value.segments if isinstance(part, int)))
        return ()

    def is_prerelease(self, text: str) -> bool:
        """Return whether it is one that people have to ask for; what is no version is one, too."""
        version = self.parse(text)
        match version:
            case NumberedVersion():
                return version.is_unstable()
            case PypiVersion():
                return bool(version.value.is_prerelease)
            case SemverVersion():
                return bool(version.value.prerelease)
            case RubygemsVersion():
                return bool(version.value.prerelease())
        return True

    def newer(self, text: str, than: str) -> bool:
        """Return whether one version comes after another; never so for what is no version."""
        one, other = self.parse(text), self.parse(than)
        return one is not None and other is not None and one > other

    def order(self, texts: Iterable[str]) -> list[str]:
        """Return the versions among these, oldest first."""
        parsed = [(version, text) for text in texts if (version := self.parse(text)) is not None]
        return [text for _, text in sorted(parsed, key=lambda pair: pair[0])]

    def delta(self, old: str, new: str) -> Delta:
        """Return which number is the first to differ."""
        one, other = self.release(old), self.release(new)
        if not one or not other:
            return "other"
        width = max(len(one), len(other), 4)
        pairs = zip(_pad(one, width), _pad(other, width), strict=True)
        first = next((at for at, (a, b) in enumerate(pairs) if a != b), 3)
        if first == 1 and one[1] in _YEARS and other[1] in _YEARS:
            return "minor"  # the calendar moved, and says nothing of what may break: calver.org
        return "major" if first < 2 else "minor" if first == 2 else "patch"

    def breaks(self, old: str, new: str) -> bool:
        """Return whether a step before 1.0 may break what uses it, as majors do.

        Of npm and Cargo the first number that is not 0 says so: semver.org/#spec-item-4. Python
        has no such rule (PEP 440), and Go's modules stay before 1.0 for good.
        """
        one, other = self.release(old), self.release(new)
        if self.name not in _BREAKING_BEFORE_1 or len(one) < 3 or len(other) < 3:
            return False
        return one[1] == other[1] == 0 and one[2] != other[2]

    def admits(self, wanted: str, text: str) -> bool:
        """Return whether a requirement, as people write it for this ecosystem, takes a version.

        Where univers knows no syntax of the ecosystem, npm's is read. What cannot be read takes
        none.
        """
        if not 0 < len(wanted.strip()) <= LONGEST or (version := self.parse(text)) is None:
            return False
        try:
            if self.requirement is not None:
                return self.requirement(wanted, text)
            if isinstance(version, PypiVersion):
                written = wanted if wanted[:1] in "<>=!~" else f"=={wanted}"
                return SpecifierSet(written).contains(text, prereleases=True)
            if self.name == "gem":
                return version in _read_native(GemVersionRange, wanted)
            plain = SemverVersion(text.removeprefix("v"))
            return plain in _read_native(NpmVersionRange, wanted)
        except (ValueError, TypeError, AttributeError):
            return False


PYPI = Scheme("pypi", PypiVersion)
NPM = Scheme("npm", SemverVersion)


@dataclass(frozen=True)
class Ranges:
    """The union of the ranges of all open alerts for one package."""

    scheme: Scheme
    ranges: tuple[VersionRange, ...]

    @classmethod
    def from_advisories(cls, scheme: Scheme, advisories: Iterable[Advisory]) -> Ranges:
        """Read the alerts' ranges. Raises Unfit for one that cannot be read: it would be missed."""
        return cls(scheme, tuple(_range(scheme, advisory) for advisory in advisories))

    def hold(self, text: str) -> bool:
        """Return whether a version is vulnerable; what is no version counts as vulnerable."""
        version = self.scheme.parse(text)
        return version is None or any(version in each for each in self.ranges)

    def targets(self, old: str, available: Sequence[str], *, majors: bool) -> Iterator[str]:
        """Yield the versions to go to, smallest first: those of the same major line come first."""
        good = [
            text
            for text in self.scheme.order(dict.fromkeys(available))
            if self.scheme.newer(text, old)
            and not self.scheme.is_prerelease(text)
            and not self.hold(text)
        ]
        yield from (text for text in good if self.scheme.delta(old, text) != "major")
        if majors:
            yield from (text for text in good if self.scheme.delta(old, text) == "major")


def _read_native(kind: Any, wanted: str) -> VersionRange:
    """Return what a requirement takes; univers says nothing of its types."""
    found: VersionRange = kind.from_native(wanted)
    return found


def _range(scheme: Scheme, advisory: Advisory) -> VersionRange:
    try:
        if len(advisory.vulnerable) <= LONGEST * 4:
            found: VersionRange = (
                _build_range(scheme, scheme.range, advisory.vulnerable)
                if scheme.range
                else build_range_from_github_advisory_constraint(scheme.name, advisory.vulnerable)
            )
            return found
    except ValueError:
        pass
    raise Unfit(
        "unsupported",
        f"The vulnerable range of {advisory.ghsa_id} is not one that Fettle can read, so nothing "
        "can be shown to be outside of it. Fix this one by hand.",
    )


def _build_range(scheme: Scheme, kind: type[VersionRange], text: str) -> VersionRange:
    """Return a range as GitHub writes it. Raises ValueError."""
    bounds = []
    for part in text.split(","):
        found = _BOUND.fullmatch(part.strip())
        if found is None:
            raise ValueError(part)
        bounds.append(VersionConstraint(comparator=found[1], version=scheme.version(found[2])))
    return kind(constraints=tuple(sorted(bounds)))


def _pad(numbers: tuple[int, ...], width: int) -> tuple[int, ...]:
    return numbers + (0,) * (width - len(numbers))
