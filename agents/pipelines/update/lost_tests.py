"""Find tests of either branch that their merge lost, by name.

A test of the one side that stands where a test of the other side stood looks like a renamed one to
whoever compares two files. Names tell: each that either side has is there, unless a side took it
away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from agents.analysis.weakening import (
    LONGEST,
    Finding,
    ViewLine,
    list_cases,
    make_finding,
    select_tests,
)
from agents.analysis.which_are_tests import find_language, is_test_code


class Versions(NamedTuple):
    """One file in conflict, where the branches came from, on both, and settled."""

    fork: bytes | None
    ours: bytes | None
    theirs: bytes | None
    now: bytes | None


def find_lost_tests(files: Mapping[str, Versions]) -> Iterator[Finding]:
    """Yield the tests that should be there and are nowhere in these files."""
    tests = {
        path: [_names(path, text) for text in versions]
        for path, versions in files.items()
        if is_test_code(path) or find_language(path) == "rust"
    }
    there = {name for *_, now in tests.values() for name in now}
    for path, (fork, ours, theirs, _) in tests.items():
        taken_away = (fork - ours) | (fork - theirs)
        for name in sorted((ours | theirs) - taken_away - there):
            yield make_finding(path, 0, "removed", name)


def _names(path: str, text: bytes | None) -> set[str]:
    lines = (text or b"").decode("utf-8", "replace").splitlines()
    view = tuple(ViewLine(number, line[:LONGEST]) for number, line in enumerate(lines, 1))
    return {case.name for case in select_tests(list_cases(view, find_language(path)))}
