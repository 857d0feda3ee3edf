"""Find changed settings of checks: CI, linters, types, tests, coverage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from agents.analysis.weakening.finding import Finding, make_finding
from agents.analysis.weakening.flat_settings import Unparsable, Values, read_values
from agents.analysis.weakening.settings_files import (
    BUILDS,
    CHECKERS,
    SCRIPTS,
    is_settings,
    is_wholly,
    partial,
)

__all__ = ["Texts", "find_loosened_settings", "is_settings"]

Texts = tuple[str | None, str | None]
"""A file before and after; None where it is absent."""

SHOWN = 12  # settings of one file that are named one by one

_THRESHOLD = re.compile(
    r"(fail[-_]under|threshold|minimum|min[-_]?coverage|min[-_]?score|\btarget$"
    r"|(branches|functions|lines|statements)$|\blow$|\bhigh$|coverage$)",
    re.IGNORECASE,
)
_IN_ARGUMENTS = re.compile(
    r"(?:--(?:cov-)?fail[-_]under|--min-?(?:cov\w*|score)|--(?:check-)?coverage)[= ]+"
    r"(?P<number>\d+(?:\.\d+)?)"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?=%?$)")
# More of these is more to pass: rules that are on, words for tests that somebody may choose by.
_STRICTER = re.compile(r"(^|\.)((extend-)?select|enable|markers|enabled_rules|source|testpaths)$")
_SKIPPING = re.compile(
    r"skipTests|maven\.test\.skip|testFailureIgnore|ignoreFailures|skipITs|haltOnFailure"
    r"|NoWarn|TreatWarningsAsErrors|WarningLevel|failOnWarning|failOnViolation|-Werror|Xlint"
    r"|linguist-(?:generated|vendored)|\s-diff\b|\sbinary\b"  # what a reviewer is not shown
    r"|exclude[A-Z]?\w*Test|excludeTags|includeTags|includeTestsMatching|excludedGroups|<groups>"
    r"|<(?:ex|in)clude>[^<]{0,200}(?:Tests?|IT)\b|testSourceDirectory|test\s+in\s+Test"
    r"|maven\.test\.\w+|enabled\s*=\s*false|Analyzers?\b"
)
_CMAKE_LISTS = re.compile(
    r"\b(?:add_test|enable_testing|\w*discover_tests|doctest_add_test)\s*\(|-Werror"
    r"|\binclude\s*\(\s*CTest\b",
    re.IGNORECASE,
)
"""What has CMake build a list of tests: a line more of it takes nothing away."""
_SCRIPT = re.compile(r"scripts\.")
_CMAKE_SKIPS = re.compile(
    r"\b(?:WILL_FAIL|DISABLED)\s+\"?(?:TRUE|ON|YES|Y|[1-9]\d*)\b|-Wno-error", re.IGNORECASE
)
_MESON_LISTS = re.compile(r"\btest\s*\(|\bwerror\s*=\s*true")
_MESON_SKIPS = re.compile(r"\bshould_fail\b|\bdisabler\s*\(|\bbenchmark\s*\(|-Wno-error")
_OF_BUILDS = {  # what has tests skipped or warnings pass, and what is missed when it is gone
    "CMakeLists.txt": (_CMAKE_SKIPS, _CMAKE_LISTS),
    "meson.build": (_MESON_SKIPS, _MESON_LISTS),
}


def find_loosened_settings(path: str, before: str | None, after: str | None) -> Iterator[Finding]:
    """Yield what is other in a settings file, unless it only got stricter."""
    if before == after or not is_settings(path):
        return
    if BUILDS.fullmatch(PurePosixPath(path).name):
        yield from _build(path, before or "", after or "")
        return
    try:
        old, new = _read_relevant_values(path, before, after)
    except Unparsable as error:
        yield make_finding(path, 0, "unreadable", f"what it sets could not be read: {error}")
        return
    if after is None:
        if old:
            yield make_finding(path, 0, "settings", "the file is gone")
        return
    if before is None and SCRIPTS.fullmatch(path):  # a check more than before
        return
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if before is None and is_wholly(path):
        yield make_finding(path, 0, "settings", "the file is new")
        return
    for name in changed[:SHOWN]:
        yield from _setting(path, name, old.get(name), new.get(name), after)
    if rest := changed[SHOWN:]:
        yield make_finding(path, 0, "settings", f"and {len(rest)} more: {', '.join(rest)}")


def _read_relevant_values(path: str, before: str | None, after: str | None) -> list[Values]:
    """Return what is about checks in the file before and after.

    A script is that, whatever it is called, once it no longer runs a program that checks.
    """
    old, new = read = [read_values(path, text) if text else {} for text in (before, after)]
    part = partial(path)
    about = {name for name in {**old, **new} if part is None or part.fullmatch(name)}
    about |= {
        name
        for name, value in old.items()
        if _SCRIPT.match(name)
        and {*CHECKERS.findall(value)} - {*CHECKERS.findall(new.get(name, ""))}
    }
    return [{name: each for name, each in every.items() if name in about} for every in read]


def _setting(
    path: str, name: str, old: str | None, new: str | None, text: str
) -> Iterator[Finding]:
    line = _line_of(name, new, text)
    what = f"{name}: {_format_value(old)} → {_format_value(new)}"
    step = _step(name, old, new)
    if step:
        higher = step > 0
        yield make_finding(
            path, line, "settings" if higher else "threshold", what, grave=not higher
        )
    elif _STRICTER.search(name) and _only_gained_lines(old, new):
        yield make_finding(path, line, "settings", what, grave=False)
    else:
        yield make_finding(path, line, "settings", what)


def _step(name: str, old: str | None, new: str | None) -> float:
    """Return how far a threshold was raised, below zero when it was lowered; 0 if it is none."""
    if old is None or new is None:
        return 0
    before, after = _IN_ARGUMENTS.search(old), _IN_ARGUMENTS.search(new)
    if before and after and _IN_ARGUMENTS.sub("", old) == _IN_ARGUMENTS.sub("", new):
        return float(after["number"]) - float(before["number"])
    if _THRESHOLD.search(name):
        numbers = _NUMBER.fullmatch(old.rstrip("%")), _NUMBER.fullmatch(new.rstrip("%"))
        if numbers[0] and numbers[1]:
            return float(numbers[1][0]) - float(numbers[0][0])
    return 0


def _only_gained_lines(old: str | None, new: str | None) -> bool:
    return set((old or "").splitlines()) <= set((new or "").splitlines()) and new is not None


def _build(path: str, before: str, after: str) -> Iterator[Finding]:
    """Yield the lines of a build file that decide whether tests and warnings count."""
    skips, gone = _OF_BUILDS.get(PurePosixPath(path).name, (_SKIPPING, _SKIPPING))
    known = {line.strip() for line in before.splitlines()}
    still = {line.strip() for line in after.splitlines()}
    for number, line in enumerate(after.splitlines(), 1):
        if skips.search(line) and line.strip() not in known:
            yield make_finding(path, number, "settings", line)
    for line in before.splitlines():
        if gone.search(line) and line.strip() not in still:
            yield make_finding(path, 0, "settings", f"{line.strip()} is gone")


def _format_value(value: str | None) -> str:
    return "(absent)" if value is None else ", ".join(value.splitlines()) or "(empty)"


def _line_of(name: str, value: str | None, text: str) -> int:
    """Return the line where a setting most likely stands; 0 when it does not."""
    key = re.sub(r"\[\d+\]$", "", name).rpartition(".")[2]
    first = (value or "").split("\n", 1)[0]
    lines = text.splitlines()
    both = (n for n, line in enumerate(lines, 1) if key in line and first and first in line)
    either = (n for n, line in enumerate(lines, 1) if key in line or (first and first == line))
    return next(both, 0) or (next(either, 0) if value is not None else 0)
