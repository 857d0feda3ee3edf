"""Find weakened tests: removed tests and rows, and weaker assertions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from agents.analysis.weakening.assertion_strength import read_demands
from agents.analysis.weakening.assertions import (
    Assertion,
    AssertionChange,
    compare,
    measure_similarity,
)
from agents.analysis.weakening.finding import Finding, make_finding
from agents.analysis.weakening.parameter_tables import list_rows, row_lines
from agents.analysis.weakening.test_cases import ParsedTest
from agents.analysis.weakening.test_changes import ParsedSuite
from agents.analysis.which_are_tests import is_test

SAME = 0.7  # share that an assertion elsewhere in the file has in common with one that is gone
MOST_PAIRS = 10_000  # that are compared: beyond it, the order has to do
MOST_FRESH = 300  # new assertions of a file that are looked at for one that is gone
RELATED = 0.2  # below that, one assertion did not take the place of another


def find_weakened_tests(suites: Sequence[ParsedSuite]) -> Iterator[Finding]:
    """Yield what is weaker in these files than it was."""
    all_assertions = _balance(suites, lambda case: (a.text for a in case.asserted))
    all_rows = _balance(suites, lambda case: list_rows(case).elements())
    for suite in suites:
        if not _summarize_file(suite):
            for case in suite.gone:
                yield make_finding(suite.change.path, case.line, "removed", case.name)
        for before, after in suite.pairs:
            if not before.name and not is_test(suite.change.path):
                continue  # what stands beside the tests in a source file
            yield from _rows(suite, before, after, all_rows)
            yield from _assertions(suite, before, after, all_assertions)


def _summarize_file(suite: ParsedSuite) -> bool:
    """Return whether the file is a test file that is deleted, of which people are told once."""
    return suite.change.new is None and is_test(suite.change.path)


@dataclass(frozen=True)
class _Balance:
    """What the whole diff has lost, and what it has gained: what only moved is in neither."""

    lost: Counter[str]
    gained: Counter[str]


def _balance(
    suites: Sequence[ParsedSuite], texts: Callable[[ParsedTest], Iterable[str]]
) -> _Balance:
    before = Counter(text for suite in suites for case in suite.before for text in texts(case))
    after = Counter(text for suite in suites for case in suite.after for text in texts(case))
    return _Balance(before - after, after - before)


# --- tables -------------------------------------------------------------------------------------


def _rows(
    suite: ParsedSuite, before: ParsedTest, after: ParsedTest, balance: _Balance
) -> Iterator[Finding]:
    old, new = list_rows(before), list_rows(after)
    fewer = old.total() > new.total() or _copies(old, new)
    lines = row_lines(before)
    for text in old - new:
        line = lines[text].number
        if not balance.lost[text]:
            continue
        if not fewer:
            yield make_finding(suite.change.path, line, "expectation", text, grave=False)
        elif not _spread(text, suite):
            what = f"a case of {before.name or 'a table'}: {text}"
            yield make_finding(suite.change.path, line, "removed", what)


def _copies(old: Counter[str], new: Counter[str]) -> bool:
    """Return whether rows are copies of others now, in tables with each row in one line."""
    if old["("] + old["["] + old[""] > 1:
        return False
    again = (text for text in new - old if old[text] and text[-1:] in (")", "]", "}"))
    return any(len(Assertion(0, text).literals) > 1 for text in again)


def _spread(row: str, suite: ParsedSuite) -> bool:
    """Return whether the values of a row stand in the code now, as after taking a table apart."""
    wanted = Counter(Assertion(0, row).literals)
    return wanted.total() > 1 and wanted <= suite.added_values


# --- assertions ---------------------------------------------------------------------------------


def _assertions(
    suite: ParsedSuite, before: ParsedTest, after: ParsedTest, balance: _Balance
) -> Iterator[Finding]:
    gone, new = _split_differences(before.asserted, after.asserted)
    gone = [one for one in gone if balance.lost[one.text]]
    path = suite.change.path
    for one, other in _pair_replacements(gone, new):
        change = compare(one, other)
        text = f"{one.text} → {other.text}"
        if change is AssertionChange.WEAKER:
            yield make_finding(path, other.line, "weaker", text)
        elif change is AssertionChange.EXPECTATION:
            yield make_finding(path, other.line, "expectation", text, grave=False)
        gone.remove(one)
    for one in gone:
        if not _is_demanded_elsewhere(one, suite, balance):
            yield make_finding(path, one.line, "assertion", one.text)


def _split_differences(
    before: Sequence[Assertion], after: Sequence[Assertion]
) -> tuple[list[Assertion], list[Assertion]]:
    """Return what is only in the one and what is only in the other, in their order."""
    return _subtract(before, after), _subtract(after, before)


def _subtract(these: Sequence[Assertion], those: Sequence[Assertion]) -> list[Assertion]:
    known = Counter(each.text for each in those)
    left = []
    for each in these:
        if known[each.text]:
            known[each.text] -= 1
        else:
            left.append(each)
    return left


def _pair_replacements(
    gone: Sequence[Assertion], new: Sequence[Assertion]
) -> list[tuple[Assertion, Assertion]]:
    """Return which assertion took the place of which: those with most in common first."""
    if len(gone) * len(new) > MOST_PAIRS:
        return list(zip(gone, new, strict=False))
    nearest = sorted(
        (
            (-measure_similarity(one, other), at, to)
            for at, one in enumerate(gone)
            for to, other in enumerate(new)
        )
    )
    used: set[tuple[str, int]] = set()
    pairs = []
    for likeness, at, to in nearest:
        if -likeness >= RELATED and not used & {("gone", at), ("new", to)}:
            used |= {("gone", at), ("new", to)}
            pairs.append((gone[at], new[to]))
    return pairs


def _is_demanded_elsewhere(one: Assertion, suite: ParsedSuite, balance: _Balance) -> bool:
    """Return whether something else in the file demands what this assertion did."""
    fresh = [a for case in suite.after for a in case.asserted if balance.gained[a.text]]
    fresh = fresh[:MOST_FRESH]
    if any(
        measure_similarity(one, a) >= SAME and read_demands(a.text) >= read_demands(one.text)
        for a in fresh
    ):
        return True
    wanted = Counter(one.literals)
    covered = wanted.total() > 0 and wanted <= suite.added_values
    return covered and (suite.has_table or any(one.subject & a.subject for a in fresh))
