"""Read a check's whole output: recognise the format and collect the failures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.analysis.check_failures import c_family, compiled, javascript, python
from agents.analysis.check_failures import other_tools as others
from agents.analysis.check_failures.findings import FINDINGS
from agents.analysis.check_failures.lines import is_truncated, lines_of
from agents.analysis.check_failures.members import (
    name_program,
    split_by_member,
    stops_at_first_member,
)
from agents.analysis.check_failures.reported import (
    FailuresByProgram,
    ReportedFailures,
    ReportFormat,
)

MOST = 500  # names that are kept of one program

FORMATS: tuple[ReportFormat, ...] = (
    *python.FORMATS,
    *javascript.FORMATS,
    *compiled.FORMATS,
    *others.FORMATS,
    *c_family.WRAPPERS,
)

_CALLED_TESTS = re.compile(r"\btests?\b", re.IGNORECASE)
_RUNS_TESTS = re.compile(
    r"\b(?:pytest|unittest|ctest|rspec|phpunit|vitest|jest|mocha|tox|nox)\b"
    r"|\b(?:make|go|cargo|dotnet|mix|meson|gradlew?|mvnw?|npm|yarn|pnpm|bun|rake)\b"
    r"(?: run| -\S+){0,9} test\b|\bmake(?: -\S+){0,9} check\b|\bmvnw? (?:-\S+ ){0,9}verify\b"
)

_STOPS_EARLY = re.compile(
    r"\s(?:--?fail-?fast|--exitfirst|--maxfail\b|--bail\b|--stop-on-|-x)(?=[\s=\w-]|$)"
)


def read_failures(output: str, command: str, *, exited: bool, name: str = "") -> FailuresByProgram:
    """Return what failed, by name, as far as the programs are known.

    `name`: what people call the check. `exited`: whether the command came to its end by itself. A
    test can write what it likes, so this is what the check says of itself: more than its exit
    code, never instead of it.
    """
    lines = lines_of(output)
    parts = split_by_member(lines)
    found: dict[str, ReportedFailures] = {}
    for member, said in parts.items():
        told = _read_part(said)
        found |= {name_program(program, member): each for program, each in told.items()}
    cut = is_truncated(lines)
    early = not exited or bool(_STOPS_EARLY.search(command))
    early = early or stops_at_first_member(parts, command)
    return FailuresByProgram(
        told={program: _limit_names(told, cut, early) for program, told in found.items()},
        of_tests=bool(_RUNS_TESTS.search(command) or _CALLED_TESTS.search(name)),
    )


def _read_part(lines: Sequence[str]) -> dict[str, ReportedFailures]:
    found = _read_formats(FORMATS, lines)
    if found.keys() & {each.name for each in c_family.WRAPPERS}:
        found.pop("TAP", None)  # of programs that they start
    if not found.keys() - {others.HOOKS}:  # what a runner shows of its programs, it counts itself
        found |= c_family.read_test_programs(lines)
    if not found.keys() - {others.HOOKS} and (told := FINDINGS.read(lines)):
        found[FINDINGS.name] = told
    return found


def _read_formats(
    formats: Sequence[ReportFormat], lines: Sequence[str]
) -> dict[str, ReportedFailures]:
    text = "\n".join(lines)
    likely = (each for each in formats if any(sign in text for sign in each.signs))
    return {each.name: told for each in likely if (told := each.read(lines))}


def _limit_names(told: ReportedFailures, cut: bool, early: bool) -> ReportedFailures:
    """Return the first of the failures; they are whole only where all names are among them."""
    kept = dict(list(told.names.items())[:MOST])
    missing = early or len(kept) < len(told.names) or (cut and not told.ended)
    return told.model_copy(update={"names": kept, "whole": told.whole and not missing})
