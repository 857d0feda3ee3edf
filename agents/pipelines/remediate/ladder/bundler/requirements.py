"""The requirements of gems: test a version, and move a requirement to admit one.

https://guides.rubygems.org/patterns/#declaring-dependencies
"""

from __future__ import annotations

import re

from univers.version_range import GemVersionRange
from univers.versions import RubygemsVersion

_CLAUSE = re.compile(r"(~>|!=|>=|<=|=|>|<|)\s*([0-9][0-9A-Za-z.-]*)")
_TEXT = r"\s*,\s*(?:\"[^\"#\\\n]*\"|'[^'\\\n]*')"
_LINE = r"^(?P<head>[ \t]*gem[ \t]*\(?[ \t]*(?P<q>[\"'])%s(?P=q))(?P<spec>(?:%s(?!\s*=>))*)"


def admits(spec: str, version: str) -> bool:
    """Return whether a requirement, its parts divided by commas, admits a version."""
    clauses = [part.strip() for part in spec.split(",") if part.strip()]
    if not all(map(_CLAUSE.fullmatch, clauses)):
        return False
    stated = ", ".join(clauses or [">= 0"])
    found = GemVersionRange.from_native(stated)  # type: ignore[no-untyped-call]  # univers has none
    return RubygemsVersion(version) in found


def move_pin(spec: str, version: str) -> str | None:
    """Return the requirement with its pin at the version; None for what is no pin."""
    found = _CLAUSE.fullmatch(spec.strip())
    if not found or found[1] not in ("", "="):
        return None
    return f"{found[1]} {version}".strip()


def move_range(spec: str, version: str) -> str | None:
    """Return the requirement with pin and bounds moved as far as need be; None where it cannot."""
    moved = [_move_clause(part.strip(), version) for part in spec.split(",") if part.strip()]
    return None if None in moved else ", ".join(filter(None, moved))


def _move_clause(clause: str, version: str) -> str | None:
    found = _CLAUSE.fullmatch(clause)
    if not found or admits(clause, version):
        return clause if found else None
    sign, bound = found.groups()
    numbers = version.split(".")
    match sign:
        case "" | "=" | "<=":
            return f"{sign} {version}".strip()
        case "~>":
            return f"~> {'.'.join(numbers[: bound.count('.') + 1])}"
        case "<":
            return f"< {int(numbers[0]) + 1}"
    return None


def rewrite(gemfile: str, package: str, spec: str) -> str | None:
    """Return the Gemfile with another requirement of the package; None where none is plain text.

    A Gemfile is a program: only lines that name the gem and its versions as texts are changed.
    """
    parts = [part.strip() for part in spec.split(",")]

    def restate(found: re.Match[str]) -> str:
        if not found["spec"]:
            return found[0]
        bare = [part.removeprefix("= ") if "=" not in found["spec"] else part for part in parts]
        quote = found["q"]
        return ", ".join([found["head"], *(f"{quote}{part}{quote}" for part in bare)])

    line = re.compile(_LINE % (re.escape(package), _TEXT), re.MULTILINE)
    changed = line.sub(restate, gemfile)
    return changed if changed != gemfile else None
