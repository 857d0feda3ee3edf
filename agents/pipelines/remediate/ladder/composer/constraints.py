"""Composer's version constraints: test a version, and move a constraint to admit one.

https://getcomposer.org/doc/articles/versions.md
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator

from agents.pipelines.remediate.ladder.composer.versions import DEVELOPMENT, VersionKey, read_key

_PIN = re.compile(r"(\s*=?\s*v?)([0-9]+(?:\.[0-9]+){1,3}(?:-[0-9A-Za-z.]+)?)(\s*)")
_SIGNED = re.compile(r"(\s*[\^~]\s*v?)([0-9]+(?:\.[0-9]+){0,3})(\s*)")
_BETWEEN = re.compile(r"\s*(\S+)\s+-\s+(\S+)\s*")
_STABILITY = re.compile(r"@(?:stable|rc|beta|alpha|dev)$", re.IGNORECASE)
_STARRED = re.compile(r"v?(\d+(?:\.\d+){0,2})(?:\.[xX*])+")
_NUMBERS = re.compile(r"v?(\d+(?:\.\d+){0,3})")
_COMPARED = re.compile(r"(<>|!=|>=?|<=?|==?)?(.*)")
_TESTS: dict[str, Callable[[VersionKey, VersionKey], bool]] = {
    "": operator.eq,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def admits(constraint: str, version: str) -> bool:
    """Return whether a constraint admits a version; what names a branch admits none."""
    key = read_key(version)
    either = re.split(r"\|\|?", constraint)
    return key is not None and any(_holds(part, key) for part in either if part.strip())


def move_pin(constraint: str, version: str) -> str | None:
    """Return the constraint with its pin at the version; None for what is no pin."""
    found = _PIN.fullmatch(constraint)
    return f"{found[1]}{version}{found[3]}" if found else None


def move_range(constraint: str, version: str) -> str | None:
    """Return the constraint that admits the version's line; one more beside several bounds."""
    if found := _SIGNED.fullmatch(constraint):
        short = ".".join(version.split(".")[: found[2].count(".") + 1])
        choices = [f"{found[1]}{bound}{found[3]}" for bound in (short, version)]
        return next((each for each in choices if admits(each, version)), None)
    return move_pin(constraint, version) or f"{constraint.strip()} || ^{version}"


def _holds(part: str, key: VersionKey) -> bool:
    """Return whether all bounds of a part hold for a version."""
    try:
        if found := _BETWEEN.fullmatch(part):
            return all(_list_between(found[1], found[2], key))
        bounds = re.sub(r"([<>=!~^])\s+", r"\1", part).replace(",", " ").split()
        return all(_holds_bound(_STABILITY.sub("", bound) or "*", key) for bound in bounds)
    except _Unread:
        return False


def _holds_bound(bound: str, key: VersionKey) -> bool:
    if re.fullmatch(r"v?[xX*](?:\.[xX*])*", bound):
        return True
    if bound[:1] in ("~", "^"):
        low, plain = _read(bound[1:]), _NUMBERS.match(bound[1:])
        given = plain[1].split(".") if plain else []
        place = _find_caret_place(given) if bound[0] == "^" else max(1, len(given) - 1)
        return _lower(bound[1:], low) <= key < _next(low, place)
    if found := _STARRED.fullmatch(bound):
        low = _read(found[1])
        return _as_development(low) <= key < _next(low, found[1].count(".") + 1)
    compared = _COMPARED.fullmatch(bound)
    sign, text = (compared[1] or "", compared[2]) if compared else ("", "")
    limit = _read(text)
    if sign in ("<", ">="):
        limit = _lower(text, limit)
    return _TESTS[sign](key, limit)


def _list_between(low: str, high: str, key: VersionKey) -> Iterator[bool]:
    """Yield whether a version is in both bounds of a hyphened range; a part of a version is all."""
    yield _lower(low, _read(low)) <= key
    plain, limit = _NUMBERS.fullmatch(high), _read(high)
    if plain and plain[1].count(".") < 2:
        yield key < _next(limit, plain[1].count(".") + 1)
    else:
        yield key <= limit


def _find_caret_place(given: list[str]) -> int:
    """Return which number must not move: the first that is not 0, of the first three."""
    return next((at for at, each in enumerate(given[:3], 1) if int(each)), min(len(given), 3))


def _lower(text: str, key: VersionKey) -> VersionKey:
    """Return where a lower bound begins: what is plainly numbered takes its own stages in."""
    return _as_development(key) if _NUMBERS.fullmatch(text) else key


def _as_development(key: VersionKey) -> VersionKey:
    return key[0], DEVELOPMENT, (), 0


def _next(key: VersionKey, place: int) -> VersionKey:
    """Return the first version whose number at that place is one higher."""
    numbers = [*key[0][:place]]
    numbers[-1] += 1
    return (*numbers, *(0,) * (4 - len(numbers))), DEVELOPMENT, (), 0


class _Unread(ValueError):
    """A bound that is none of versions."""


def _read(text: str) -> VersionKey:
    key = read_key(text)
    if key is None:
        raise _Unread(text)
    return key
