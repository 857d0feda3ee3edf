"""Name the tests that ran, by the lines that runners without a report write of each.

A test can write such lines, too, and break others: whoever reads them holds their number against
the runner's own count, and believes no names where the two differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.named_tests import pack_names
from agents.analysis.check_failures.reported import ReportedFailures

CARGO_TARGET = re.compile(r" +(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))")
TAP_POINT = re.compile(r"( *)(not )?ok\b(?: \d+)?(?: -)?(.*)$")
TAP_SKIP = re.compile(r" # SKIP", re.IGNORECASE)

_CARGO_TEST = re.compile(r"test (\S.*) \.\.\. (?:ok|FAILED)\b")
_HINTS = (" - should panic", " - compile fail", " - compile")
"""What Cargo says of how a test is to end, behind its name."""
_UNITTEST_CASE = re.compile(r"(\w+) \(([\w.]+)\)(?= \.\.\.|$)")
_UNITTEST_SKIPPED = re.compile(r".*\.\.\. skipped\b")
_EXUNIT_MODULE = re.compile(r"(\S+) \[\S+\]$")
_EXUNIT_TEST = re.compile(r" {2}\* ((?:test|doctest|property) [^\r]+?) \[L#\d+\]$")
_EXUNIT_END = re.compile(r"\((?:(\d[\d.]*ms)|\w+)\)$")
_BUN_TEST = re.compile(r"\((?:pass|fail)\) (\S.*)$")


def add_test_names(told: ReportedFailures | None, names: Sequence[str]) -> ReportedFailures | None:
    """Return what was told with the names of the tests that ran, where these are all of them."""
    if told is None or told.ran != len(names):
        return told
    return told.model_copy(update={"tests": pack_names(names)})


def list_cargo_tests(lines: Sequence[str]) -> Iterator[str]:
    """Yield the tests of `cargo test`, each with its target, as its failures are named."""
    target = ""
    for line in lines:
        if found := CARGO_TARGET.match(line):
            target = normalize_name(found[1] or f"doc {found[2]}")
        elif found := _CARGO_TEST.match(line):
            name = found[1]
            for hint in _HINTS:
                name = name.removesuffix(hint)
            yield normalize_name(f"{target} {name}")


def list_unittest_tests(lines: Sequence[str]) -> Iterator[str]:
    """Yield the tests of `python -m unittest -v`; a docstring stands in a line of its own."""
    for line, below in pairwise((*lines, "")):
        found = _UNITTEST_CASE.match(line)
        whole = found and line[found.end() :]
        if found and not _UNITTEST_SKIPPED.match(line if whole else below):
            test, place = found.groups()  # of which newer versions write both in the second
            yield normalize_name(f"{place.removesuffix(f'.{test}')}.{test}")


def list_exunit_tests(lines: Sequence[str]) -> Iterator[str]:
    """Yield the tests of `mix test --trace`, each with its module, as its failures are named."""
    module = ""
    for line in lines:
        if found := _EXUNIT_MODULE.match(line):
            module = found[1]
        elif found := _EXUNIT_TEST.match(line):
            ended = _EXUNIT_END.search(found[1])
            if ended and ended[1]:
                name = found[1][: ended.start()].rstrip()
                yield normalize_name(f"{name} ({module})")


def list_bun_tests(lines: Sequence[str]) -> Iterator[str]:
    """Yield the tests of `bun test`."""
    return (normalize_name(found[1]) for line in lines if (found := _BUN_TEST.match(line)))


def list_tap_tests(lines: Sequence[str]) -> Iterator[str]:
    """Yield the points of TAP that are parts of no others."""
    for line in lines:
        found = TAP_POINT.match(line)
        if found and not found[1] and not TAP_SKIP.search(f" {found[3]}"):
            yield normalize_name(found[3].partition(" # ")[0]) or "(no name)"
