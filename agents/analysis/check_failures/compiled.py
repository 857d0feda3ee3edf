"""Parse failures of go test, cargo test, nextest and dotnet test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.analysis.check_failures.lines import is_truncated, normalize_name
from agents.analysis.check_failures.printed_tests import (
    CARGO_TARGET,
    add_test_names,
    list_cargo_tests,
)
from agents.analysis.check_failures.reported import (
    ALL_OF_IT,
    ReportedFailures,
    ReportFormat,
    count_each_once,
    report_failures,
)

_GO_TEST = re.compile(r" *--- FAIL: (\S+)")
_GO_PACKAGE = re.compile(r"(ok  |FAIL|\?   )\t(\S+)(.*)$")

_CARGO_RESULT = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed;")
_CARGO_BUILD = re.compile(r"error: could not compile `([^`]+)`")
_CARGO_EARLY = re.compile(r"error: (?:test|doctest) failed, to rerun")
_CARGO_ALL = re.compile(r"error: \d+ targets? failed:")

# Of a test that is tried again, the last try counts. What it writes:
# https://github.com/nextest-rs/nextest/tree/main/nextest-runner/src/reporter/displayer/snapshots
_NEXTEST_STATUS = re.compile(
    r" *(?:TRY \d+ )?(?:(?P<bad>X?FAIL(?: \+ LEAK)?|FL\+LK|LEAK-FAIL|LKFAIL|TIMEOUT|TMT|TMOUT"
    r"|SIG[A-Z0-9]+|ABORT(?: SIG \d+)?|SEGV|ABRT|KILL|BUS|ILL|FPE|TRAP|TERM)"
    r"|PASS|LEAK|FLAKY \d+/\d+) \[[^\]]*\] (?P<test>\S.*)$"
)
_NEXTEST_END = re.compile(r" +Summary \[[^\]]*\] +(\d+)(?:/(\d+))? tests? run:")
_NEXTEST_COUNT = re.compile(r"(\d+) (?:(?:exec )?failed|timed out)")
_NEXTEST_PLACE = re.compile(r"\( *\d+/\d+\) ")

_DOTNET_BAD = re.compile(r" {1,2}Failed (\S.*)$")
_DOTNET_END = re.compile(r"(?:Failed|Passed|Skipped)! +- Failed: +(\d+),(?: +Passed: +(\d+),)?")


def _go(lines: Sequence[str]) -> ReportedFailures | None:
    packages = [found for line in lines if (found := _GO_PACKAGE.match(line))]
    if not packages:
        return None
    names: list[str] = []
    tests: list[str] = []
    # Of a package, good or bad, at least one: more is not said of those that are good.
    ran = sum(found[1] == "ok  " and "[no tests to run]" not in found[3] for found in packages)
    early = is_truncated(lines)  # it says at its end which packages fail, but not how many tests
    for line in lines:
        if found := _GO_TEST.match(line):
            tests.append(found[1])
        elif line.startswith(("panic: ", "fatal error: ")):
            early = True  # the tests behind it in this package never ran
        elif found := _GO_PACKAGE.match(line):
            package = normalize_name(found[2])
            if found[1] == "FAIL":
                names += [normalize_name(f"{package} {test}") for test in tests]
                names += [] if tests else [f"{package}{ALL_OF_IT}"]
            tests = []
    bad = [found[2] for found in packages if found[1] == "FAIL"]
    ran += sum(f"{normalize_name(each)}{ALL_OF_IT}" not in names for each in bad)
    result = count_each_once(report_failures(names, said=len(names), early=early, ran=ran))
    return result and result.model_copy(update={"ended": True})


def _cargo(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [found for line in lines if (found := _CARGO_RESULT.match(line))]
    counts = [int(found[2]) for found in ends]
    builds = [
        f"{normalize_name(found[1])}{ALL_OF_IT}"
        for line in lines
        if (found := _CARGO_BUILD.match(line))
    ]
    if not counts and not builds:
        return None
    early = any(_CARGO_EARLY.match(line) for line in lines)
    stops = early and not any(_CARGO_ALL.match(line) for line in lines)
    names = [*_cargo_names(lines), *builds]
    said = sum(counts) + len(builds) if counts else None
    ran = sum(int(found[1]) for found in ends) + sum(counts)
    result = count_each_once(
        report_failures(names, said=said, sessions=len(counts) if stops else 0, ran=ran)
    )
    result = add_test_names(result, [*list_cargo_tests(lines)])
    # What was not built was not run either, so nothing is known of its tests.
    return result and result.model_copy(update={"whole": result.whole and not builds})


def _cargo_names(lines: Sequence[str]) -> Iterator[str]:
    """Yield what stands in the lists below `failures:`, of which the second has the names."""
    target, inside = "", False
    for line in lines:
        if found := CARGO_TARGET.match(line):
            target = normalize_name(found[1] or f"doc {found[2]}")
        if line == "failures:":
            inside = True
        elif inside and line.startswith("    ") and not line.startswith("     "):
            yield normalize_name(f"{target} {line.strip()}")
        else:
            inside = False


def _nextest(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [(found, line) for line in lines if (found := _NEXTEST_END.match(line))]
    if not ends:
        return None
    tried = {
        normalize_name(_NEXTEST_PLACE.sub("", found["test"])): found["bad"]
        for line in lines
        if (found := _NEXTEST_STATUS.match(line))
    }
    names = [name for name, bad in tried.items() if bad]
    said = sum(int(n) for _, line in ends for n in _NEXTEST_COUNT.findall(line))
    stopped = any(found[2] for found, _ in ends)  # `3/10 tests run`
    ran = sum(int(found[1]) for found, _ in ends)
    result = count_each_once(
        report_failures(names, said=said, early=stopped, sessions=len(ends), ran=ran)
    )
    result = add_test_names(result, [*tried])
    return result and result.model_copy(update={"whole": not stopped and said <= result.total})


def _dotnet(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [found for line in lines if (found := _DOTNET_END.match(line))]
    if not ends:
        return None
    names = [normalize_name(found[1]) for line in lines if (found := _DOTNET_BAD.match(line))]
    said = sum(int(found[1]) for found in ends)
    return report_failures(names, said=said, ran=said + sum(int(found[2] or 0) for found in ends))


FORMATS = (
    ReportFormat("go test", ("ok  \t", "FAIL\t", "?   \t"), _go),
    ReportFormat("cargo test", ("test result: ", "error: could not compile"), _cargo),
    ReportFormat("nextest", (" tests run:", " test run:"), _nextest),
    ReportFormat("dotnet test", ("! - Failed:", "!  - Failed:"), _dotnet),
)
