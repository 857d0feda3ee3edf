"""Match tests before and after: kept, renamed, moved, made a parameter row, or removed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agents.analysis.weakening.diff_views import (
    FileDiff,
    ViewLine,
    list_code,
    list_fresh_lines,
)
from agents.analysis.weakening.parameter_tables import has_loop, list_rows
from agents.analysis.weakening.test_cases import ParsedTest, list_cases, measure_test_similarity

RENAMED = 0.6  # share of the code that a test under another name has in common with the old one
MOST_FRESH = 400  # new tests that are compared with one that is gone
EXPLAINED = 0.6  # share of a test's values that are in a table now

MOST_LOST = 50  # lines that are gone and are looked for among the new ones

_TEXT = re.compile(r"'(?![\w-]*[./])[^']*'|\"(?![\w-]*[./])[^\"]*\"")
"""A text that names no file."""
_WORD = re.compile(r"[\w./-]*[A-Za-z_][\w./-]*")
_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'|\b\d[\w.]*|\b(?:True|False|None|true|false|null|nil)\b")


@dataclass
class ParsedSuite:
    """The tests of one file, before and after."""

    change: FileDiff
    before: list[ParsedTest]
    after: list[ParsedTest]
    pairs: list[tuple[ParsedTest, ParsedTest]] = field(default_factory=list)
    """Tests that are there before and after, under whatever name, in whatever file."""
    gone: list[ParsedTest] = field(default_factory=list)
    merged: list[ParsedTest] = field(default_factory=list)
    """Tests whose values are in a table of another test now."""

    @cached_property
    def fresh_lines(self) -> list[ViewLine]:
        """Return the lines of code that the file did not have before."""
        before = [line for case in self.before for line in case.lines]
        after = [line for case in self.after for line in case.lines]
        return list_fresh_lines(before, after)

    @cached_property
    def added_values(self) -> Counter[str]:
        """Return the values that these lines write out."""
        return values(self.fresh_lines)

    @cached_property
    def has_table(self) -> bool:
        """Return whether something new in it has one test do the work of several."""
        before = Counter(row for case in self.before for row in list_rows(case).elements())
        after = Counter(row for case in self.after for row in list_rows(case).elements())
        return has_loop(self.fresh_lines) or bool(after - before)


def list_suites(changes: Sequence[FileDiff]) -> list[ParsedSuite]:
    """Return the tests of these files, paired as far as they still are somewhere."""
    found = [
        ParsedSuite(c, list_cases(c.before, c.language), list_cases(c.after, c.language))
        for c in changes
    ]
    fresh = [(suite, case) for suite in found for case in _fresh(suite)]
    for suite in found:
        _pair(suite, fresh)
    return found


def find_lost_line(change: FileDiff) -> str:
    """Return the first line of code that a file had and has no more, not even changed; or none.

    Where it has other values, or more or fewer names, it is changed.

    What a script that is a test demands, it says in words of its own: any of its lines may.
    """
    before, after = (
        [ViewLine(line.number, line.text.strip()) for line in list_code(lines, change.language)]
        for lines in (change.before, change.after)
    )
    fresh = [_list_words(line.text) for line in list_fresh_lines(before, after)[:MOST_FRESH]]
    for at, line in enumerate(list_fresh_lines(after, before)):
        words = _list_words(line.text)
        like = next((each for each in fresh if words <= each or each <= words), None)
        if words and (like is None or at == MOST_LOST):
            return line.text
        if words and like is not None:
            fresh.remove(like)
    return ""


def _list_words(text: str) -> Counter[str]:
    """Return the names and paths in a line, without its values."""
    return Counter(_WORD.findall(_TEXT.sub("", text)))


def values(lines: Iterable[ViewLine]) -> Counter[str]:
    """Return the values that these lines write out."""
    return Counter(each.strip("\"'") for line in lines for each in _VALUE.findall(line.text))


def _fresh(suite: ParsedSuite) -> list[ParsedTest]:
    """Return the tests of a file that it did not have before."""
    known = Counter(case.name for case in suite.before)
    fresh = []
    for case in suite.after:
        if case.line and not known[case.name]:
            fresh.append(case)
        known[case.name] -= 1
    return fresh


def _pair(suite: ParsedSuite, fresh: list[tuple[ParsedSuite, ParsedTest]]) -> None:
    there: dict[str, list[ParsedTest]] = {}
    for case in suite.after:
        there.setdefault(case.name, []).append(case)
    missing = []
    for case in suite.before:
        if there.get(case.name):
            suite.pairs.append((case, there[case.name].pop(0)))
        elif case.line:
            missing.append(case)
    for case in missing:
        _find(case, suite, fresh)


def _find(
    case: ParsedTest, suite: ParsedSuite, fresh: list[tuple[ParsedSuite, ParsedTest]]
) -> None:
    """Look for a test that is not where it was: the same name first, then the same code."""
    if len(fresh) > MOST_FRESH:  # too many to compare each with each: the name has to do
        fresh_ones = [(place, other) for place, other in fresh if other.name == case.name]
    else:
        fresh_ones = fresh
    ranked = sorted(
        ((_rank(case, suite, other, place), at) for at, (place, other) in enumerate(fresh_ones)),
        reverse=True,
    )
    if ranked and ranked[0][0] >= RENAMED:
        chosen = fresh_ones[ranked[0][1]]
        fresh.remove(chosen)
        suite.pairs.append((case, chosen[1]))
    elif _has_table_values(case, suite):
        suite.merged.append(case)
    else:
        suite.gone.append(case)


def _rank(case: ParsedTest, suite: ParsedSuite, other: ParsedTest, place: ParsedSuite) -> float:
    same = case.name == other.name
    likeness = measure_test_similarity(case, other)
    return likeness + (2 if same else 0) + (0.05 if place is suite else 0)


def _has_table_values(case: ParsedTest, suite: ParsedSuite) -> bool:
    """Return whether the values of a test are in a table of its file now."""
    wanted = values(case.lines)
    if not suite.has_table:
        return False
    there = wanted & suite.added_values
    return wanted.total() > 0 and there.total() / wanted.total() >= EXPLAINED
