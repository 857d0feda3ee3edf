"""Parse what test programs in C and C++ print of themselves, where no runner told it before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.reported import (
    ReportedFailures,
    ReportFormat,
    count_each_once,
    report_failures,
)

FindNames = Callable[[Sequence[str]], Iterable[str]]

_RUNNER = re.compile(r"\d+% tests passed, \d+ tests? failed out of \d+|Ok: +\d+$")
"""CTest's and Meson's last words: they write reports, and show programs' output where it fails."""
_CRASHED = re.compile(
    r".*(?:\*\*\* \[[^\]]*\] (?:Segmentation fault|Aborted|Bus error|Killed|Illegal instruction"
    r"|Floating point exception|Error 1(?:3\d|27)\b)|\(core dumped\))"
)
_RULE = re.compile(r"-{40,}$")


@dataclass(frozen=True)
class _Framework:
    """How the programs of one test framework begin, count, and name what failed."""

    name: str
    signs: tuple[str, ...]
    ends: re.Pattern[str]
    """What each program says once, at its end."""
    counts: re.Pattern[str]
    """Groups: `ran`, or `passed` and `failed`; `errors`, `crashed`, `total` and `skipped`."""
    find_names: FindNames
    begins: re.Pattern[str] | None = None
    counts_tests: bool = True
    """Whether it counts tests that failed; else the assertions in them."""

    def read(self, lines: Sequence[str]) -> ReportedFailures | None:
        """Return what all programs of this framework told together."""
        if any(_RUNNER.match(line) for line in lines):
            return None
        sessions = sum(1 for line in lines if self.ends.match(line))
        begun = sum(1 for line in lines if self.begins and self.begins.match(line))
        if not sessions and not begun:
            return None
        sums: dict[str, int] = {}
        for line in lines:
            for what, number in _numbers(self.counts.match(line)):
                sums[what] = sums.get(what, 0) + number
        failed = sum(sums.get(what, 0) for what in ("failed", "errors", "crashed"))
        told = report_failures(
            map(normalize_name, self.find_names(lines)),
            said=failed if self.counts_tests or not failed else None,
            early=sessions < begun or any(_CRASHED.match(line) for line in lines),
            sessions=sessions,
            ran=_count_run(sums, failed),
        )
        return count_each_once(told)


def _numbers(found: re.Match[str] | None) -> Iterator[tuple[str, int]]:
    if found is not None:
        yield from ((what, int(said)) for what, said in found.groupdict().items() if said)


def _count_run(sums: dict[str, int], failed: int) -> int:
    of_programs = [sums[what] for what in ("total", "ran") if what in sums]
    passed = sums.get("passed", 0)
    return sum(of_programs) - sums.get("skipped", 0) + passed if of_programs else passed + failed


def _find(pattern: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield the pattern's groups, joined, of each line that it matches."""
    compiled = re.compile(pattern)
    for line in lines:
        if found := compiled.match(line):
            yield " ".join(filter(None, found.groups()))


def _find_catch(lines: Sequence[str]) -> Iterator[str]:
    """Yield the test cases with a failure: their name stands between two rules above it."""
    case, fresh = "", False
    for line in lines:
        if _RULE.match(line):
            fresh = not fresh
            case = "" if fresh else case
        elif fresh:
            case = case or line
        elif line.endswith(": FAILED:") and case:
            yield case


def _find_doctest(lines: Sequence[str]) -> Iterator[str]:
    case = ""
    for line in lines:
        if line.startswith("TEST CASE:"):
            case = line.removeprefix("TEST CASE:").strip()
        elif " ERROR: " in line and case:
            yield case


def _find_cunit(lines: Sequence[str]) -> Iterator[str]:
    suite = ""
    for line in lines:
        if found := re.match(r"Suite: (.{1,200})$", line):
            suite = found[1]
        elif found := re.match(r" +Test: (.{1,200}?) ?\.\.\. ?FAILED$", line):
            yield f"{suite} {found[1]}"
        elif found := re.match(r"Suite (.{1,200}), Test (.{1,200}) had failures:$", line):
            yield f"{found[1]} {found[2]}"


_FRAMEWORKS = (
    _Framework(  # cmocka writes the same
        "GoogleTest",
        ("[==========] ",),
        ends=re.compile(r"\[==========\] \d+ test\S* (?:from .{1,100} ran|run|ran)\."),
        counts=re.compile(
            r"\[  PASSED  \] (?P<passed>\d+) test|\[  FAILED  \] (?P<failed>\d+) test\S*, listed"
        ),
        find_names=partial(_find, r"\[  FAILED  \] (?!\d+ test)([^\s,]{1,300})"),
        begins=re.compile(r"\[==========\] Running \d+ test"),
    ),
    _Framework(
        "doctest",
        ("[doctest] ",),
        ends=re.compile(r"\[doctest\] Status: "),
        counts=re.compile(
            r"\[doctest\] test cases: +(?P<ran>\d+) \| +\d+ passed \| +(?P<failed>\d+) failed"
        ),
        find_names=_find_doctest,
        begins=re.compile(r"\[doctest\] doctest version is"),
    ),
    _Framework(
        "Catch2",
        ("All tests passed (", "test cases: "),
        ends=re.compile(r"All tests passed \(|test cases: +\d+ \|"),
        counts=re.compile(
            r"All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?"
            r"|test cases: +(?P<total>\d+) \|(?=(?:.* (?P<failed>\d+) failed\b(?! as))?)"
            r"(?=(?:.* (?P<skipped>\d+) skipped)?)"
        ),
        find_names=_find_catch,
    ),
    _Framework(
        "Boost.Test",
        ("*** No errors detected", " detected in the test module"),
        ends=re.compile(r"\*\*\* (?:No errors|\d+ failures? (?:is|are)) detected"),
        counts=re.compile(r"Running (?P<ran>\d+) test cases?\.|\*\*\* (?P<failed>\d+) failures? "),
        find_names=partial(_find, r'.{1,500}?\berror: in "([^"]{1,300})"'),
        begins=re.compile(r"Running \d+ test cases?\.\.\."),
        counts_tests=False,
    ),
    _Framework(
        "Check",
        ("%: Checks: ",),
        ends=re.compile(r"\d+%: Checks: "),
        counts=re.compile(
            r"\d+%: Checks: (?P<ran>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+)"
        ),
        find_names=partial(_find, r"([^\s:]{1,300}):\d+:[FE]:([^:]{1,100}):([^:]{1,100}):"),
    ),
    _Framework(
        "CUnit",
        ("Run Summary: ",),
        ends=re.compile(r"Run Summary: "),
        counts=re.compile(r" +tests +\d+ +(?P<ran>\d+) +\S+ +(?P<failed>\d+)"),
        find_names=_find_cunit,
    ),
    _Framework(
        "CppUTest",
        (" ignored, ",),
        ends=re.compile(r"(?:OK|Errors) \((?:\d+ failures?, )?\d+ tests?, \d+ ran, "),
        counts=re.compile(
            r"(?:OK|Errors) \((?:(?P<failed>\d+) failures?, )?\d+ tests?, (?P<ran>\d+) ran, "
        ),
        find_names=partial(_find, r".{1,500}?: Failure in TEST\((\w{1,200}), (\w{1,200})\)"),
    ),
    _Framework(
        "Criterion",
        ("] Synthesis: ",),
        ends=re.compile(r"\[====\] Synthesis: "),
        counts=re.compile(
            r"\[====\] Synthesis: Tested: (?P<ran>\d+) \| Passing: \d+"
            r" \| Failing: (?P<failed>\d+) \| Crashing: (?P<crashed>\d+)"
        ),
        find_names=partial(_find, r"\[FAIL\] ([^\s:]{1,200}::[^\s:]{1,200})"),
    ),
    _Framework(
        "Unity",
        (" Failures ",),
        ends=re.compile(r"\d+ Tests \d+ Failures \d+ Ignored"),
        counts=re.compile(
            r"(?P<total>\d+) Tests (?P<failed>\d+) Failures (?P<skipped>\d+) Ignored"
        ),
        find_names=partial(_find, r"([^\s:]{1,300}):\d+:(\w{1,200}):FAIL\b"),
    ),
    _Framework(
        "Qt Test",
        ("Totals: ",),
        ends=re.compile(r"Totals: \d+ passed, "),
        counts=re.compile(r"Totals: (?P<passed>\d+) passed, (?P<failed>\d+) failed, "),
        find_names=partial(_find, r"FAIL!  : (.{1,300}?\))"),
        begins=re.compile(r"\*{9} Start testing of "),
    ),
    _Framework(
        "Automake",
        ("# TOTAL:",),
        ends=re.compile(r"# TOTAL: "),
        counts=re.compile(
            r"# TOTAL: +(?P<total>\d+)|# SKIP: +(?P<skipped>\d+)|# FAIL: +(?P<failed>\d+)"
            r"|# XPASS: +(?P<errors>\d+)|# ERROR: +(?P<crashed>\d+)"
        ),
        find_names=partial(_find, r"(?:FAIL|XPASS|ERROR): (.{1,300})"),
    ),
    _Framework(
        "test program",
        ("Pass ", "Passed"),
        ends=re.compile(r"Pass(?:ed)?:? +\d+,? +Fail(?:ed)?:? +\d+$"),
        counts=re.compile(r"Pass(?:ed)?:? +(?P<passed>\d+),? +Fail(?:ed)?:? +(?P<failed>\d+)$"),
        find_names=partial(_find, r"\[(?:fail|FAIL)\] (.{1,300})"),
    ),
)

FORMATS = tuple(ReportFormat(each.name, each.signs, each.read) for each in _FRAMEWORKS)
