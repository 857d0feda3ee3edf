"""Widen a Python requirement to admit a version: pins, floors, upper bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

_ABOVE = re.compile(r">(?!=)")
_BELOW = ("==", "===", "~=", ">=", ">")

Admits = Callable[[str, str], bool]
"""Whether a requirement's text admits a version."""
SpecChange = Callable[[str, str], str | None]
"""From a requirement's text and the version to one that admits it; None where there is none."""

_CLAUSE = re.compile(r"^(\s*)(===|==|~=|!=|<=|>=|<|>)(\s*)([^\s]+)(\s*)$")
_SHORT = re.compile(r"^(\s*)(\^|~(?!=))(\s*)([0-9][^\s,|]*)(\s*)$")
_BARE = re.compile(r"^(\s*)([0-9][0-9A-Za-z.+!-]*)(\s*)$")


@dataclass(frozen=True)
class Goal:
    """Where the requirements on a package go: each its own way where markers hold several."""

    version: str
    targets: Mapping[str, str]
    """Where each vulnerable version goes; empty where nobody said: all go to the one version."""

    def choose(self, spec: str, admits: Admits) -> str:
        """Return the version that a requirement has to admit; empty where it is not concerned."""
        if not self.targets:
            return self.version
        if (lowest := floor(spec)) in self.targets:
            return self.targets[lowest]
        admitted = [old for old in self.targets if admits(spec, old)]
        return self.targets[max(admitted, key=Version)] if admitted else ""


def admits(spec: str, version: str) -> bool:
    """Return whether a requirement of PEP 440 admits a version."""
    try:
        return SpecifierSet(spec).contains(version, prereleases=True)
    except InvalidSpecifier:
        return False


def admit_only(versions: Collection[str], offered: Iterable[str]) -> str:
    """Return a specifier that of what an index offers admits these versions alone."""
    bounds = sorted(map(Version, versions))
    others = {*_read_versions(offered)} - {*bounds}
    between = sorted(each for each in others if bounds[0] < each < bounds[-1])
    return ",".join((f">={bounds[0]}", f"<={bounds[-1]}", *(f"!={each}" for each in between)))


def _read_versions(texts: Iterable[str]) -> Iterator[Version]:
    """Yield the versions; no resolver takes one that is none by PEP 440."""
    for each in texts:
        with suppress(InvalidVersion):
            yield Version(each)


def floor(spec: str) -> str:
    """Return the lowest version that a requirement names; empty when it names none."""
    found = filter(None, map(_CLAUSE.match, spec.strip("()").split(",")))
    bounds = [each[4].removesuffix(".*") for each in found if each[2] in _BELOW]
    try:
        return max(bounds, key=Version, default="")
    except ValueError:
        return ""


def begins_at(spec: str, version: str) -> bool:
    """Return whether a requirement admits nothing before a version, as far as it names any."""
    lowest = floor(spec)
    return not lowest or Version(lowest) >= Version(version)


def bump_pin(spec: str, version: str) -> str | None:
    """Return the requirement with its pin at the version; upper bounds stay."""
    return _map_clauses(spec, version, _pin)


def raise_floor(spec: str, version: str) -> str | None:
    """Return the requirement with pin or floor at the version; upper bounds stay.

    A pin to a line of versions, as `==1.26.*`, stays, and gets a floor beside it.
    """
    moved = _map_clauses(_ABOVE.sub(">=", spec), version, _floor)
    is_low = moved is not None and "*" in moved and not begins_at(moved, version)
    return f"{moved},>={version}" if is_low else moved


def widen_range(spec: str, version: str) -> str | None:
    """Return the requirement with pin and upper bounds moved as far as need be."""
    return _map_clauses(spec, version, _widen)


def widen_and_raise(spec: str, version: str) -> str | None:
    """Return the requirement with pin, floor and upper bounds moved as far as need be."""
    moved = widen_range(spec, version)
    return None if moved is None else raise_floor(moved, version)


def _map_clauses(
    spec: str, version: str, change: Callable[[str, str, str], str | None]
) -> str | None:
    clauses = []
    for clause in spec.split(","):
        found = _CLAUSE.match(clause)
        if not found:
            return None
        moved = change(found[2], found[4], version)
        if moved is None:
            return None
        clauses.append(f"{found[1]}{found[2]}{found[3]}{moved}{found[5]}")
    result = ",".join(clauses)
    return result if admits(result, version) else None


def _pin(operator: str, bound: str, version: str) -> str | None:
    return version if operator in ("==", "===") and "*" not in bound else bound


def _floor(operator: str, bound: str, version: str) -> str | None:
    if operator == ">=" or (operator == "~=" and admits(f"~={bound}", version)):
        return _no_shorter(version, bound)
    return _pin(operator, bound, version)


def _widen(operator: str, bound: str, version: str) -> str | None:
    if admits(f"{operator}{bound}", version):
        return bound
    depth = bound.removesuffix(".*").count(".") + 1
    match operator:
        case "==" if bound.endswith(".*"):
            return f"{_cut(version, depth)}.*"
        case "==" | "===" | "<=":
            return version
        case "~=":
            return _cut(version, depth)
        case "<":
            return _next_bound_as(bound, version)
    return None


def _cut(version: str, depth: int) -> str:
    """Return the first numbers of a version, like `3.1` of 3.1.4."""
    numbers = (*Version(version).release, *(0,) * depth)[:depth]
    return ".".join(map(str, numbers))


def _next_bound(version: str, depth: int) -> str:
    """Return the first bound of so many numbers that is above a version."""
    numbers = [int(number) for number in _cut(version, depth).split(".")]
    return ".".join(map(str, (*numbers[:-1], numbers[-1] + 1)))


def _next_bound_as(bound: str, version: str) -> str:
    """Return the next bound with the zeros that an earlier one ends with: `<2.0` means a major."""
    numbers = bound.split(".")
    depth = len(numbers)
    while depth > 1 and numbers[depth - 1] == "0":
        depth -= 1
    return ".".join((_next_bound(version, depth), *numbers[depth:]))


def _no_shorter(version: str, bound: str) -> str:
    """Return the version with at least two numbers where `~=` needs them."""
    return version if "." in version or "." not in bound else f"{version}.0"


def poetry_bumped(spec: str, version: str) -> str | None:
    """Return Poetry's form of a requirement with its pin at the version."""
    if found := _BARE.match(spec):
        return f"{found[1]}{version}{found[3]}" if "*" not in spec else None
    return None if _SHORT.match(spec) else bump_pin(spec, version)


def poetry_widened(spec: str, version: str) -> str | None:
    """Return Poetry's form of a requirement with pin and bounds moved as far as need be."""
    if found := _SHORT.match(spec):
        if _short_admits(found[2], found[4], version):
            return spec
        bound = _cut(version, found[4].count(".") + 1)
        return f"{found[1]}{found[2]}{found[3]}{bound}{found[5]}"
    if _BARE.match(spec):
        return poetry_bumped(spec, version)
    if spec.strip().endswith(".*") and _CLAUSE.match(spec) is None:
        return f"{_cut(version, spec.strip().removesuffix('.*').count('.') + 1)}.*"
    return widen_range(spec, version)


def poetry_admits(spec: str, version: str) -> bool:
    """Return whether Poetry's form of a requirement admits a version."""
    if spec.strip() == "*":
        return True
    if found := _SHORT.match(spec):
        return _short_admits(found[2], found[4], version)
    if found := _BARE.match(spec):
        return admits(f"=={found[2]}", version)
    return admits(f"=={spec}" if spec.strip()[:1].isdigit() else spec, version)


def _short_admits(sign: str, bound: str, version: str) -> bool:
    """Return whether `^bound` or `~bound` admits a version."""
    try:
        numbers = Version(bound).release
    except ValueError:
        return False
    significant = next((at for at, n in enumerate(numbers) if n), len(numbers) - 1) + 1
    depth = significant if sign == "^" else min(2, len(numbers))
    return admits(f">={bound},<{_next_bound(bound, depth)}", version)
