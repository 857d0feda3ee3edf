"""Composer's version constraints: test a version, and move a constraint to admit one.

https://getcomposer.org/doc/articles/versions.md
"""

from __future__ import annotations

import re

from agents.pipelines.remediate.ladder.npm import specs

_PIN = re.compile(r"(\s*=?\s*v?)([0-9]+(?:\.[0-9]+){1,2}(?:-[0-9A-Za-z.]+)?)(\s*)")
_SIGNED = re.compile(r"(\s*[\^~]\s*v?)([0-9]+(?:\.[0-9]+){0,2})(\s*)")
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+){0,2}")


def admits(constraint: str, version: str) -> bool:
    """Return whether a constraint admits a version; what names a branch admits none."""
    either = [part for part in re.split(r"\|\|?", constraint) if part.strip()]
    return any(specs.admits(" ".join(map(_to_npm, _split(part))), version) for part in either)


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


def _split(part: str) -> list[str]:
    """Return the bounds that all have to hold, a hyphenated range as two."""
    if found := re.fullmatch(r"\s*(\S+)\s+-\s+(\S+)\s*", part):
        return [f">={found[1]}", f"<={found[2]}"]
    return re.sub(r"([<>=!~^])\s+", r"\1", part).replace(",", " ").split()


def _to_npm(bound: str) -> str:
    """Return one bound as npm writes it: a bare version is that one, and `~1.2` goes up to 2.0."""
    plain = bound.partition("@")[0].replace("==", "=")
    if plain.startswith("~") and plain.count(".") < 2:
        return f"^{plain[1:]}"
    if _NUMBERS.fullmatch(plain.removeprefix("v")):
        return f"={'.'.join([*plain.removeprefix('v').split('.'), '0', '0'][:3])}"
    return plain
