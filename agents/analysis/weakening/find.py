"""Find everything in a change that weakens tests or checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from agents.analysis.weakening.bypassed_assertions import (
    find_bypassed_assertions,
    find_stand_ins,
)
from agents.analysis.weakening.diff_views import FileDiff, Unreadable, ViewLine, read_diff
from agents.analysis.weakening.finding import Finding, make_finding
from agents.analysis.weakening.settings import Texts, find_loosened_settings, is_settings
from agents.analysis.weakening.skip_markers import find_disabled, find_silencers
from agents.analysis.weakening.test_cases import select_tests
from agents.analysis.weakening.test_changes import ParsedSuite, list_suites
from agents.analysis.weakening.weakened import find_weakened_tests
from agents.analysis.which_are_tests import has_test_name, is_test, is_test_code

MOVED = 0.8  # share of a deleted file's lines that are somewhere else now
NO_DIFF = "the diff of the change could not be read, so nobody knows what it does to tests"
UNSEARCHED = "where no program looks for tests"
UNSEEN = "it was changed, but the diff does not show it"
NO_TEXT = "it is treated as binary, so what changed in it cannot be seen"


def find_weakening(diff: str, settings: Mapping[str, Texts] | None = None) -> tuple[Finding, ...]:
    """Return what the change weakens, by file and line.

    `settings`: every settings file that it touches, before and after; None where it is absent. The
    diff should show much of what stands around the changes: what a line belongs to is read from it.
    """
    try:
        changes = read_diff(diff)
    except Unreadable as error:
        return (make_finding("the whole change", 0, "unreadable", f"{NO_DIFF}: {error}"),)
    tests = [change for change in changes if holds_tests(change)]
    about = list_suites(tests)
    every = [
        *_find_deleted_tests(about, changes),
        *_data(changes),
        *find_weakened_tests(about),
        *find_disabled(about),
        *find_bypassed_assertions(about),
        *find_silencers(changes),
        *find_stand_ins(changes),
        *_settings(changes, settings or {}),
    ]
    unique = dict.fromkeys(every)
    return tuple(sorted(unique, key=lambda each: (not each.grave, each.path, each.line)))


def find_unseen_tests(changed: Sequence[str], diff: str) -> tuple[Finding, ...]:
    """Return the tests among the changed paths of which the diff says nothing at all."""
    names = {path for path in changed if is_test(path) and path.isascii()}
    return tuple(
        make_finding(path, 0, "unreadable", UNSEEN)
        for path in sorted(names)
        if f"/{path}" not in diff
    )


def holds_tests(change: FileDiff) -> bool:
    """Return whether tests are looked for in it: in a test file, or beside the code as in Rust."""
    if change.binary:
        return False
    return change.language == "rust" or any(
        path is not None and is_test_code(path) for path in (change.old, change.new)
    )


def _find_deleted_tests(
    about: Sequence[ParsedSuite], changes: Sequence[FileDiff]
) -> Iterator[Finding]:
    """Yield the test files that are gone, or no longer found where tests are looked for."""
    shown = {suite.change.path: suite for suite in about}
    added = Counter(line.text.strip() for change in changes for line in change.after)
    for change in changes:
        if change.old is None or not is_test(change.old):
            continue
        if change.new is not None and is_test(change.new):
            if has_test_name(change.old) and not has_test_name(change.new):
                yield make_finding(
                    change.old, 0, "deleted", f"it is {change.new} now, {UNSEARCHED}"
                )
            continue
        if change.new is not None:
            yield make_finding(
                change.old, 0, "deleted", f"it is {change.new} now, which is no test"
            )
        elif change.binary or not _is_moved(change, shown.get(change.path), added):
            yield make_finding(change.old, 0, "deleted", _content(shown.get(change.path)))


def _is_moved(change: FileDiff, suite: ParsedSuite | None, added: Counter[str]) -> bool:
    if suite is not None and any(select_tests(suite.before)):
        return not suite.gone
    lines = [line.text.strip() for line in change.before if line.number and line.text.strip()]
    there = sum(bool(added[text]) for text in lines)
    return there >= MOVED * len(lines)


def _content(suite: ParsedSuite | None) -> str:
    names = [case.name for case in select_tests(suite.gone)] if suite else []
    if not names:
        return "what tests use"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"with {', '.join(names[:3])}{more}"


def _data(changes: Sequence[FileDiff]) -> Iterator[Finding]:
    """Yield the changed files that tests compare with, and test code that cannot be seen."""
    for change in changes:
        if change.old is None or change.new is None or not is_test(change.path):
            continue
        if is_test_code(change.path):
            if change.binary:
                yield make_finding(change.path, 0, "unreadable", NO_TEXT)
        elif not is_settings(change.path) and (line := _first_gone(change)):
            yield make_finding(change.path, line.number, "expectation", line.text, grave=False)


def _first_gone(change: FileDiff) -> ViewLine | None:
    """Return the first line that is not there any more."""
    if change.binary:
        return ViewLine(0, "binary data")
    left = Counter(line.text for line in change.after)
    for line in change.before:
        if line.number and line.text.strip() and not left[line.text]:
            return line
        left[line.text] -= 1
    return None


def _settings(changes: Sequence[FileDiff], settings: Mapping[str, Texts]) -> Iterator[Finding]:
    for path, texts in settings.items():
        yield from find_loosened_settings(path, *texts)
    touched = dict.fromkeys(path for c in changes for path in (c.old, c.new) if path)
    for path in touched:
        if path not in settings and is_settings(path):
            yield make_finding(path, 0, "settings", "what changed in it was not compared")
