"""npm's version requirements: test a version, and widen a requirement to admit one."""

from __future__ import annotations

import re

from semantic_version import NpmSpec, Version

_LONGEST = 300
_SPACED = re.compile(r"(>=|<=|>|<|=|\^|~>|~)\s+")
_LETTER = re.compile(r"(?<![^\s=<>~^|])v(?=\d)")
_PIN = re.compile(r"^(\s*[=v]*\s*)(\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]*)?)(\s*)$")
_SIGNED = re.compile(r"^(\s*(?:\^|~>?|<=)\s*)(v?\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.-]+)?)(\s*)$")
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
