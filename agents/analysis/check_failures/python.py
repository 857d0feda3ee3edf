"""Parse failures of pytest and unittest; Django and nose print as unittest does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.printed_tests import add_test_names, list_unittest_tests
from agents.analysis.check_failures.reported import (
    ALL_OF_IT,
    ReportedFailures,
    ReportFormat,
    count_each_once,
    report_failures,
)

_COUNT = (
    r"\d+ (?:subtests )?"
    r"(?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun)"
)
_ENDED = re.compile(rf"(?:no tests (?:ran|collected)|{_COUNT})(?:, {_COUNT})* in \d")
_COUNTED = re.compile(r"(\d+) (?:failed|errors?)\b")
_RAN = re.compile(r"(\d+) (?:failed|passed|xfailed|xpassed)\b")
_SUMMARY = "short test summary info"
_STOPPED = re.compile(r"!{3,} (?:stopping after|Interrupted|_pytest|KeyboardInterrupt)")
_SAYS = ("FAILED ", "ERROR ", "SUBFAILED")
_PARALLEL = re.compile(r"\[gw\d+\] *\[ *\d+%\] (?:FAILED|ERROR|SUBFAILED\S*) (\S.*)$")

_RULE = "=" * 70
_CASE = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S.*)$")
_METHOD = re.compile(r"(\w+) \(([\w.]+)\)(.*)$")
_UNITTEST_RAN = re.compile(r"Ran (\d+) tests? in \d")
_RESULT = re.compile(r"(?:FAILED|OK)(?: \((.*)\))?$")
_RESULTS = re.compile(r"(?:failures|errors|unexpected successes)=(\d+)")
_SKIPPED = re.compile(r"skipped=(\d+)")


def _pytest(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [line for line in lines if _ENDED.match(line.strip("= "))]
    if not ends and not any(_SUMMARY in line for line in lines):
        return None
    said = sum(int(n) for line in ends for n in _COUNTED.findall(line))
    names = list(_summed_up(lines)) or list(_on_the_way(lines))
    early = any(_STOPPED.match(line) for line in lines)
    ran = sum(int(n) for line in ends for n in _RAN.findall(line))
    return count_each_once(
        report_failures(
            names,
            said=said if ends else None,
            early=early,
            sessions=max(1, len(ends)),
            ran=ran if ends else None,
        )
    )


def _summed_up(lines: Sequence[str]) -> Iterator[str]:
    """Yield what stands in the summaries: elsewhere such lines may be a program's own."""
    inside = False
    for line in lines:
        if line.startswith("==="):
            inside = _SUMMARY in line
        elif inside and line.startswith(_SAYS):
            yield _of_summary(line)


def _of_summary(line: str) -> str:
    """Return the test's id, in front of the first dash that stands in no parameter."""
    kind, _, rest = line.partition(" ")
    if kind.startswith("SUBFAILED"):  # SUBFAILED[message] (i=1) path::test - why
        where = rest.rfind(" ", 0, max(rest.find("::"), 0)) + 1
        rest = rest[where:]
    at = rest.find(" - ")
    while at >= 0 and rest.count("[", 0, at) > rest.count("]", 0, at):
        at = rest.find(" - ", at + 3)
    test = rest if at < 0 else rest[:at]
    return normalize_name(test) + ("" if "::" in test or kind != "ERROR" else ALL_OF_IT)


def _on_the_way(lines: Sequence[str]) -> Iterator[str]:
    """Yield what verbose progress shows, for settings without a summary."""
    for line in lines:
        if line.endswith("%]") and "::" in line and not line.startswith("["):
            test, _, said = line.rpartition("[")[0].rstrip().partition(" SUBFAILED")
            if said or test.endswith((" FAILED", " ERROR")):
                yield normalize_name(test if said else test.rpartition(" ")[0])
        elif line.startswith("[gw") and (found := _PARALLEL.match(line)):
            yield normalize_name(found[1])


def _unittest(lines: Sequence[str]) -> ReportedFailures | None:
    ran = {n: int(found[1]) for n, line in enumerate(lines) if (found := _UNITTEST_RAN.match(line))}
    if not ran:
        return None
    names = [
        _of_case(found[1])
        for above, line in pairwise(lines)
        if above == _RULE and (found := _CASE.match(line))
    ]
    results = [_RESULT.match(line) for at in ran for line in lines[at + 1 : at + 2]]
    said = sum(int(n) for found in results if found for n in _RESULTS.findall(found[1] or ""))
    skipped = sum(int(n) for found in results if found for n in _SKIPPED.findall(found[1] or ""))
    ended = all(results)
    result = count_each_once(
        report_failures(
            names,
            said=said if ended else None,
            early=not ended,
            sessions=len(ran),
            ran=sum(ran.values()) - skipped - sum(name.endswith(ALL_OF_IT) for name in names),
        )
    )
    return add_test_names(result, [*list_unittest_tests(lines)])


def _of_case(case: str) -> str:
    """Return `module.Class.test`, whichever way this Python writes it."""
    found = _METHOD.match(case)
    if not found:
        return normalize_name(case)
    test, place, rest = found.groups()
    if place.startswith("unittest.loader._FailedTest"):
        return normalize_name(test) + ALL_OF_IT
    if place.rpartition(".")[2] != test:
        place = f"{place}.{test}"
    return normalize_name(f"{place}{rest}")


FORMATS = (
    ReportFormat("pytest", (" in ", _SUMMARY), _pytest),
    ReportFormat("unittest", ("Ran ",), _unittest),
)
