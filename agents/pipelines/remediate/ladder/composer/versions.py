"""How Composer orders versions: four numbers, and patches (`-p1`) after the release itself.

https://github.com/composer/semver/blob/main/src/VersionParser.php, which normalizes a version, and
PHP's `version_compare`, which orders what comes of it. No library on PyPI does: univers takes them
for npm's.
"""

from __future__ import annotations

import re
from typing import Any

from univers.version_range import VersionRange

from agents.pipelines.remediate.ladder.ranges import NumberedVersion, Scheme

VersionKey = tuple[tuple[int, ...], int, tuple[int, ...], int]
"""Numbers, stage, the stage's numbers, and 0 for a development version of it."""

_STAGES = {"": 4, "stable": 4, "alpha": 1, "a": 1, "beta": 2, "b": 2, "rc": 3}
_STAGES |= {"patch": 5, "pl": 5, "p": 5}
DEVELOPMENT, _STABLE = 0, 4
_MODIFIER = (
    r"[._-]?(?:(?P<stage>stable|beta|b|rc|alpha|a|patch|pl|p)(?P<at>(?:[.-]?\d+)*))?"
    r"(?P<dev>[.-]?dev)?(?:\+\S+)?"
)
_CLASSIC = re.compile(rf"v?(?P<numbers>\d{{1,5}}(?:\.\d+){{0,3}}){_MODIFIER}", re.IGNORECASE)
_DATED = re.compile(
    rf"v?(?P<numbers>\d{{4}}(?:[.:-]?\d{{2}}){{1,6}}(?:[.:-]?\d{{1,3}})?){_MODIFIER}",
    re.IGNORECASE,
)
_BRANCH = re.compile(r"v?(\d+(?:\.(?:\d+|[x*])){0,3})[.-]?dev", re.IGNORECASE)
_ANY = 9_999_999


def read_key(text: str) -> VersionKey | None:
    """Return what orders a version; None for what is none, such as the name of a branch."""
    text = text.strip()
    if found := _CLASSIC.fullmatch(text):
        numbers = tuple(map(int, found["numbers"].split(".")))
        numbers = (*numbers, *(0,) * (4 - len(numbers)))
    elif found := _DATED.fullmatch(text):
        numbers = tuple(int(each) for each in re.split(r"\D", found["numbers"]))
    elif branch := _BRANCH.fullmatch(text):
        parts = [int(each) if each.isdigit() else _ANY for each in branch[1].split(".")]
        return ((*parts, *(_ANY,) * (4 - len(parts))), DEVELOPMENT, (), 0)
    else:
        return None
    stage = (found["stage"] or "").lower()
    if found["dev"] and not stage:
        return numbers, DEVELOPMENT, (), 0
    at = tuple(int(each) for each in re.findall(r"\d+", found["at"] or ""))
    return numbers, _STAGES[stage], at, 0 if found["dev"] and stage != "stable" else 1


class ComposerRelease(NumberedVersion):
    """A version as Composer orders it."""

    @classmethod
    def is_valid(cls, string: str) -> bool:
        """Return whether Composer knows it for a version."""
        return read_key(string) is not None

    @classmethod
    def build_value(cls, string: str) -> VersionKey | None:
        """Return what it is ordered by."""
        return read_key(string)

    def list_numbers(self) -> tuple[int, ...]:
        """Return its numbers, without what says of which stage it is."""
        numbers: tuple[int, ...] = self.value[0]
        return numbers

    def is_unstable(self) -> bool:
        """Return whether it comes before the release of its numbers."""
        return bool(self.value[1] < _STABLE or not self.value[3])


class ComposerReleaseRange(VersionRange):
    """Versions of Composer between bounds."""

    scheme: Any = "composer"  # univers has None there, and no types
    version_class: Any = ComposerRelease


SCHEME = Scheme("composer", ComposerRelease, ComposerReleaseRange)


def is_development(text: str) -> bool:
    """Return whether it is a branch, whose code changes under one version."""
    key = read_key(text)
    return key is None or key[1] == DEVELOPMENT or not key[3]
