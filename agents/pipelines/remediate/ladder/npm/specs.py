"""npm's version requirements: test a version, and widen a requirement to admit one.

https://docs.npmjs.com/cli/using-npm/package-spec
https://github.com/npm/node-semver#ranges
"""

from __future__ import annotations

import re

from semantic_version import NpmSpec, Version

_LONGEST = 300
_SPACED = re.compile(r"(>=|<=|>|<|=|\^|~>|~)\s+")
_LETTER = re.compile(r"(?<![^\s=<>~^|])v(?=\d)")
_PIN = re.compile(r"^(\s*[=v]*\s*)(\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]*)?)(\s*)$")
_SIGNED = re.compile(r"^(\s*(?:\^|~>?|<=)\s*)(v?\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.-]+)?)(\s*)$")
_BOUND = re.compile(
    r"(?<![\w.<=>-])(\^|~>?|>=|>|=|)(v?\d+(?:\.(?:\d+|[xX*])){0,2}(?:-[0-9A-Za-z.-]+)?)(?![\w.])"
)
"""The first version that a range names as its lowest, with its sign."""
_ALIAS = re.compile(r"^npm:((?:@[^/@\s]+/)?[^/@\s]+)(?:@(.*))?$")


def parse_alias(name: str, spec: str) -> tuple[str, str]:
    """Return which package a requirement asks for, and the range: `npm:` gives it another name."""
    found = _ALIAS.match(spec)
    return (found[1], found[2] or "*") if found else (name, spec)


def is_range(spec: str) -> bool:
    """Return whether this is a range of versions: not a tag, a URL, a folder or a catalog."""
    return _parse_spec(spec) is not None


def admits(spec: str, version: str) -> bool:
    """Return whether a range admits a version; what is no range admits none."""
    found = _parse_spec(spec)
    try:
        return found is not None and bool(found.match(Version(version)))
    except ValueError:
        return False


def floor(spec: str) -> str:
    """Return the lowest version that a range names; empty where it admits any, or is none."""
    if not is_range(spec):
        return ""
    found = [_find_bound(each) for each in spec.split("||")]
    if not all(found):
        return ""
    return min((_complete(each[2]) for each in found if each), key=Version)


def begins_at(spec: str, version: str) -> bool:
    """Return whether a range admits nothing before a version, as far as it names any."""
    lowest = floor(spec)
    return not lowest or Version(lowest) >= Version(version)


def raise_floor(spec: str, version: str) -> str | None:
    """Return the range from the version on, its upper bound as it is; None where that cannot be."""
    plain = _SPACED.sub(r"\1", spec)
    found = _find_bound(plain)
    if found is None or "||" in plain:
        return None
    if pin := bump_pin(plain, version):
        return pin
    if not admits(plain, version):
        return None
    sign = {">": ">=", "=": ""}.get(found[1], found[1])
    if not sign and " " not in plain.strip():
        sign = _name_line(found)
    return f"{plain[: found.start()]}{sign}{version}{plain[found.end() :]}"


def widen_and_raise(spec: str, version: str) -> str | None:
    """Return the range of the version's own line instead; None where it has several.

    A line is as wide as it was: a tilde, or `1.2.x`, keeps to one minor version.
    """
    found = _find_bound(spec)
    if "||" in spec or not floor(spec) or found is None:
        return None
    return raise_floor(spec, version) or f"{_name_line(found)}{version}"


def _name_line(bound: re.Match[str]) -> str:
    """Return the sign of a range as wide as that from this bound on, like `1` or `1.2.x`."""
    minor = bound[1].startswith("~") or (bound[1] in ("", "=") and "." in bound[2].rstrip(".xX*"))
    return "~" if minor else "^"


def _find_bound(spec: str) -> re.Match[str] | None:
    return _BOUND.search(_SPACED.sub(r"\1", spec))


def _complete(version: str) -> str:
    """Return a version with all three numbers, like 1.0.0 for `1.x`."""
    plain, dash, rest = version.removeprefix("v").partition("-")
    numbers = [each if each.isdigit() else "0" for each in plain.split(".")]
    return f"{'.'.join([*numbers, '0', '0'][:3])}{dash}{rest}"


def bump_pin(spec: str, version: str) -> str | None:
    """Return the requirement with its pin at the version; None for what is no pin."""
    found = _PIN.match(spec)
    return f"{found[1]}{version}{found[3]}" if found else None


def widen_range(spec: str, version: str) -> str | None:
    """Return the requirement with its upper bound moved; a second range where it has several."""
    if found := _SIGNED.match(spec):
        return f"{found[1]}{version}{found[3]}"
    return bump_pin(spec, version) or f"{spec.strip()} || ^{version}"


def _parse_spec(spec: str) -> NpmSpec | None:
    if len(spec) > _LONGEST:
        return None
    try:
        return NpmSpec(_LETTER.sub("", _SPACED.sub(r"\1", spec)).replace("~>", "~").strip())
    except ValueError:
        return None
