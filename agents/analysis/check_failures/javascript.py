"""Parse failures of jest, vitest, mocha, node, bun, and of TAP."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.printed_tests import (
    TAP_POINT,
    TAP_SKIP,
    add_test_names,
    list_bun_tests,
    list_tap_tests,
)
from agents.analysis.check_failures.reported import (
    ALL_OF_IT,
    ReportedFailures,
    ReportFormat,
    count_each_once,
    report_failures,
)

_NOT_RUN = "Test suite failed to run"
_JEST_FILE = re.compile(r"(?:FAIL|PASS) (\S.*)$")
_JEST_TEST = re.compile(r"  ● (\S.*)$")
_JEST_COUNT = re.compile(r"Tests: +(?:.*, )?\d+ total$")
_FAILED = re.compile(r"\b(\d+) failed\b")
_RAN = re.compile(r"\b(\d+) (?:failed|passed)\b")

_VITEST_FAIL = re.compile(r" FAIL  (\S.*)$")
_VITEST_COUNT = re.compile(r" +Tests  (?:no tests|\d+ \w+.*)$")
_VITEST_FILES = re.compile(r" +Test Files  \d+ \w+.*$")

_MOCHA_PASSING = re.compile(r" {1,4}(\d+) passing\b")
_MOCHA_FAILING = re.compile(r" {1,4}(\d+) failing$")
_MOCHA_ENTRY = re.compile(r" {1,4}\d+\) (\S.*)$")

_INFO = "\N{INFORMATION SOURCE}"
_NODEJS_TESTS = f"{_INFO} tests "
_NODEJS_COUNT = re.compile(rf"(?:{_INFO}|#) fail (\d+)$")
_NODEJS_PASSED = re.compile(rf"(?:{_INFO}|#) pass (\d+)$")
_NODEJS_CANCELLED = re.compile(rf"(?:{_INFO}|#) cancelled (\d+)$")
_NODEJS_AT = re.compile(r"test at (\S.*?):\d+:\d+$")
_NODEJS_BAD = re.compile(r" *✖ (\S.*)$")
_TODO = re.compile(r" # (?:TODO|SKIP)\b", re.IGNORECASE)

_TEST_FILE = re.compile(r"\S*\w\.[cm]?[jt]sx?$")
"""What Node calls a file that it could not load, of which no test ran."""
_TAP_PLAN = re.compile(r"1\.\.(\d+)")
_TAP_GROUP = re.compile(r"( *)# Subtest: (\S.*)$")

_BUN_BAD = re.compile(r"\(fail\) (\S.*)$")
_BUN_COUNT = re.compile(r" *(\d+) fail$")
_BUN_PASSED = re.compile(r" *(\d+) pass$")


def _jest(lines: Sequence[str]) -> ReportedFailures | None:
    counts = [line for line in lines if _JEST_COUNT.match(line)]
    if not counts:
        return None
    names, file = [], ""
    for line in lines:
        if found := _JEST_FILE.match(line):
            file = normalize_name(found[1])
        elif file and (found := _JEST_TEST.match(line)) and found[1] != "Console":
            lost = found[1] == _NOT_RUN
            names.append(f"{file}{ALL_OF_IT}" if lost else normalize_name(f"{file} > {found[1]}"))
    said = sum(int(n) for line in counts for n in _FAILED.findall(line))
    tests = dict.fromkeys(name for name in names if not name.endswith(ALL_OF_IT))
    files = dict.fromkeys(name for name in names if name.endswith(ALL_OF_IT))
    ran = sum(int(n) for line in counts for n in _RAN.findall(line))
    result = count_each_once(
        report_failures([*tests, *files], said=said, sessions=len(counts), ran=ran)
    )
    return result and result.model_copy(update={"whole": said <= len(tests)})


def _vitest(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [line for line in lines if _VITEST_FILES.match(line)]
    if not ends:
        return None
    names = []
    for line in lines:
        if found := _VITEST_FAIL.match(line):
            file, inside, _ = found[1].partition(" > ")
            lost = f"{normalize_name(file.partition(' [ ')[0])}{ALL_OF_IT}"
            names.append(normalize_name(found[1]) if inside else lost)
    counts = [line for line in lines if _VITEST_COUNT.match(line)]
    said = sum(int(n) for line in counts for n in _FAILED.findall(line))
    ran = sum(int(n) for line in counts for n in _RAN.findall(line))
    tests = {name for name in names if not name.endswith(ALL_OF_IT)}
    result = count_each_once(report_failures(names, said=said, sessions=len(ends), ran=ran))
    return result and result.model_copy(update={"whole": said <= len(tests)})


def _mocha(lines: Sequence[str]) -> ReportedFailures | None:
    passed = [int(found[1]) for line in lines if (found := _MOCHA_PASSING.match(line))]
    counts = [int(found[1]) for line in lines if (found := _MOCHA_FAILING.match(line))]
    if not passed and not counts:
        return None
    return report_failures(
        _mocha_names(lines),
        said=sum(counts),
        sessions=max(len(passed), len(counts)),
        ran=sum(passed) + sum(counts),
    )


def _mocha_names(lines: Sequence[str]) -> Iterator[str]:
    """Yield the title of each failure: its suites and it, a line each, the last with a colon."""
    inside, title = False, list[str]()
    for line in lines:
        if _MOCHA_FAILING.match(line):
            inside = True
        elif inside and (found := _MOCHA_ENTRY.match(line)):
            title = [found[1]]
        elif title:
            title.append(line.strip())
        if title and (title[-1].endswith(":") or len(title) > 10):
            yield normalize_name(" ".join(title).removesuffix(":"))
            title = []


def _nodejs(lines: Sequence[str]) -> ReportedFailures | None:
    counts = [int(found[1]) for line in lines if (found := _NODEJS_COUNT.match(line))]
    if not counts or not any(line.startswith(_NODEJS_TESTS) for line in lines):
        return None
    said = sum(counts)
    said += sum(int(found[1]) for line in lines if (found := _NODEJS_CANCELLED.match(line)))
    placed, loose, file = list[str](), list[str](), ""
    for line in lines:
        if found := _NODEJS_AT.match(line):
            file = normalize_name(found[1])
        elif (found := _NODEJS_BAD.match(line)) and not _TODO.search(line):
            test = normalize_name(found[1])
            if file:
                lost = test.endswith(file)
                placed.append(f"{file}{ALL_OF_IT}" if lost else normalize_name(f"{file} > {test}"))
            elif test != "failing tests:":
                loose.append(test)
            file = ""
    passed = sum(int(found[1]) for line in lines if (found := _NODEJS_PASSED.match(line)))
    result = report_failures(
        placed or loose, said=said, sessions=len(counts), ran=passed + sum(counts)
    )
    return result and result.model_copy(update={"whole": said <= len(loose)})


def _tap(lines: Sequence[str]) -> ReportedFailures | None:
    plans = [int(found[1]) for line in lines if (found := _TAP_PLAN.match(line))]
    if not plans:
        return None
    names, groups = list[str](), dict[int, str]()
    points = skipped = 0
    for line in lines:
        if found := _TAP_GROUP.match(line):
            groups = {at: name for at, name in groups.items() if at < len(found[1])}
            groups[len(found[1])] = found[2]
        elif found := TAP_POINT.match(line):
            depth = len(found[1])
            points += not depth
            skipped += not depth and bool(TAP_SKIP.search(f" {found[3]}"))
            if found[2] and not _TODO.search(f" {found[3]}"):
                above = [name for at, name in groups.items() if at < depth]
                name = normalize_name(" > ".join((*above, found[3].strip() or "(no name)")))
                alone = not any(each.startswith(f"{name} > ") for each in names)
                names.append(f"{name}{ALL_OF_IT}" if alone and _TEST_FILE.match(name) else name)
    early = points < sum(plans) or any(line.startswith("Bail out!") for line in lines)
    ran = points - skipped
    result = report_failures(names, said=len(names), early=early, sessions=len(plans), ran=ran)
    result = add_test_names(result, [*list_tap_tests(lines)])
    return result and result.model_copy(update={"ended": not early})


def _bun(lines: Sequence[str]) -> ReportedFailures | None:
    counts = [int(found[1]) for line in lines if (found := _BUN_COUNT.match(line))]
    if not counts:
        return None
    names = [normalize_name(found[1]) for line in lines if (found := _BUN_BAD.match(line))]
    passed = sum(int(found[1]) for line in lines if (found := _BUN_PASSED.match(line)))
    ran = passed + sum(counts)
    result = report_failures(names, said=sum(counts), sessions=len(counts), ran=ran)
    return add_test_names(result, [*list_bun_tests(lines)])


FORMATS = (
    ReportFormat("jest", ("Tests: ",), _jest),
    ReportFormat("vitest", (" Test Files  ",), _vitest),
    ReportFormat("mocha", (" passing", " failing"), _mocha),
    ReportFormat("node --test", (_NODEJS_TESTS,), _nodejs),
    ReportFormat("TAP", ("1..",), _tap),
    ReportFormat("bun", (" fail\n", "(fail) "), _bun),
)
