"""Parse failures of rspec, minitest, PHPUnit, ExUnit, Maven, Gradle and pre-commit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.printed_tests import add_test_names, list_exunit_tests
from agents.analysis.check_failures.reported import (
    ReportedFailures,
    ReportFormat,
    count_each_once,
    report_failures,
)

_RSPEC_BAD = re.compile(r"rspec (\S+) # (\S.*)$")
_RSPEC_PLACE = re.compile(r"(?::\d+|\[[\d:]+\])'?$")
_RSPEC_END = re.compile(r"(\d+) examples?, (\d+) failures?(.*)$")
_RSPEC_PENDING = re.compile(r"(\d+) pending")
_RSPEC_OUTSIDE = re.compile(r"(\d+) errors? occurred outside of examples")

_RUBY_BAD = re.compile(r"([A-Z][\w:]*#[^\[]{1,300})(?: \[[^\]]*\])?:$")
_RUBY_OLD = re.compile(r"(?:Failure|Error): (test[^\s(]*\([^\s()]+\))")
_RUBY_END = re.compile(
    r"(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors\b(?:.*\b(\d+) skips)?"
)

_PHP_BAD = re.compile(r"\d+\) ([\w\\]+::\S.*)$")
_PHP_END = re.compile(r"(?:OK \((\d+) tests?, \d+ assert|Tests: (\d+), Assertions: \d+)")
_PHP_SKIPPED = re.compile(r"(?:Skipped|Incomplete): (\d+)")
_PHP_COUNT = re.compile(r"(?:Failures|Errors): (\d+)")
_PHP_NOT = re.compile(r"There (?:was|were) \d+ (?!failures?:|errors?:)")
_PHP_YES = re.compile(r"There (?:was|were) \d+ (?:failures?|errors?):")

_EX_BAD = re.compile(r" {1,4}\d+\) ((?:test|doctest|property) .+ \([\w.]+\))$")
_EX_END = re.compile(
    r"((?:\d+ (?:doctests?|propert(?:y|ies)), )*\d+ tests?), (\d+) failures?((?:, \d+ \w+)*)$"
)
_EX_NOT_RUN = re.compile(r"(\d+) (?:skipped|excluded|invalid)")

_MAVEN_BAD = ("<<< FAILURE!", "<<< ERROR!")
_MAVEN_OLD = re.compile(r"(\w+)\(([\w.$]+)\)$")
_MAVEN_END = re.compile(
    r"(?:\[\w+\] +)?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$"
)
_MAVEN_SKIPPED = re.compile(r"\[INFO\] \S.* SKIPPED$")

_GRADLE_STEP = re.compile(r"> Task (:\S+) FAILED$")
_GRADLE_END = re.compile(r"(\d+) tests? completed, (\d+) failed(?:, (\d+) skipped)?")

_HOOK_WHY = re.compile(r"\([^()]*\)$")


def _rspec(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [found for line in lines if (found := _RSPEC_END.match(line))]
    if not ends:
        return None
    names = []
    for line in lines:
        if line.startswith("rspec ") and (found := _RSPEC_BAD.match(line)):
            file = _RSPEC_PLACE.sub("", found[1]).lstrip("'")
            names.append(normalize_name(f"{file} {found[2]}"))
    said = sum(int(found[2]) for found in ends)
    outside = any(_RSPEC_OUTSIDE.search(found[3]) for found in ends)  # then no example is run
    pending = sum(int(n) for found in ends for n in _RSPEC_PENDING.findall(found[3]))
    ran = sum(int(found[1]) for found in ends) - pending
    return report_failures(names, said=said, early=outside, sessions=len(ends), ran=ran)


def _minitest(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [found for line in lines if (found := _RUBY_END.match(line))]
    if not ends:
        return None
    found_names = [_RUBY_BAD.match(line.strip()) or _RUBY_OLD.match(line) for line in lines]
    names = [normalize_name(found[1]) for found in found_names if found]
    said = sum(int(found[2]) + int(found[3]) for found in ends)
    ran = sum(int(found[1]) - int(found[4] or 0) for found in ends)
    return report_failures(names, said=said, sessions=len(ends), ran=ran)


def _phpunit(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [found for line in lines if (found := _PHP_END.match(line))]
    if not ends:
        return None
    names, counts = [], True
    for line in lines:
        if _PHP_YES.match(line):
            counts = True
        elif _PHP_NOT.match(line):  # warnings, risky and skipped tests
            counts = False
        elif counts and (found := _PHP_BAD.match(line)):
            names.append(normalize_name(found[1]))
    said = sum(int(n) for found in ends for n in _PHP_COUNT.findall(found.string))
    ran = sum(int(found[1] or found[2]) for found in ends)
    ran -= sum(int(n) for found in ends for n in _PHP_SKIPPED.findall(found.string))
    return report_failures(names, said=said, sessions=len(ends), ran=ran)


def _exunit(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [found for line in lines if (found := _EX_END.match(line))]
    if not ends:
        return None
    names = [normalize_name(found[1]) for line in lines if (found := _EX_BAD.match(line))]
    counted = sum(int(n) for found in ends for n in re.findall(r"\d+", found[1]))
    skipped = sum(int(n) for found in ends for n in _EX_NOT_RUN.findall(found[3]))
    invalid = any(" invalid" in found[3] for found in ends)  # what comes before them failed
    said = sum(int(found[2]) for found in ends)
    result = report_failures(
        names, said=said, early=invalid, sessions=len(ends), ran=counted - skipped
    )
    return add_test_names(result, [*list_exunit_tests(lines)])


def _read_maven(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [found for line in lines if (found := _MAVEN_END.match(line))]
    if not ends:
        return None
    names = []
    for line in lines:
        if line.endswith(_MAVEN_BAD) and "Tests run:" not in line:
            test = line.removeprefix("[ERROR]").partition("Time elapsed: ")[0]
            test = test.strip().removesuffix("--").rstrip()
            old = _MAVEN_OLD.match(test)
            names.append(normalize_name(f"{old[2]}.{old[1]}" if old else test))
    said = sum(int(found[2]) + int(found[3]) for found in ends)
    early = any(_MAVEN_SKIPPED.match(line) for line in lines)
    ran = sum(int(found[1]) - int(found[4]) for found in ends)
    return report_failures(names, said=said, early=early, ran=ran)


def _gradle(lines: Sequence[str]) -> ReportedFailures | None:
    ends = [found for line in lines if (found := _GRADLE_END.match(line))]
    names = [
        normalize_name(line.removesuffix(" FAILED"))
        for line in lines
        if line.endswith(" FAILED") and " > " in line and not line.startswith(">")
    ]
    steps = [normalize_name(found[1]) for line in lines if (found := _GRADLE_STEP.match(line))]
    if not ends and not steps:
        return None
    if not names:
        return report_failures(steps, said=None, early=True)  # nothing that came behind it was run
    said = sum(int(found[2]) for found in ends)
    ran = sum(int(found[1]) - int(found[3] or 0) for found in ends)
    return count_each_once(
        report_failures(
            names, said=said if ends else None, sessions=len(ends), ran=ran if ends else None
        )
    )


def _hooks(lines: Sequence[str]) -> ReportedFailures | None:
    found, bad = False, []
    for line in lines:
        if not line.endswith(_HOOK_ENDS):
            continue
        end = next(each for each in _HOOK_ENDS if line.endswith(each))
        name = _HOOK_WHY.sub("", line.removesuffix(end))
        if name.endswith("..."):
            found = True
            bad += [normalize_name(name.rstrip("."))] if end == "Failed" else []
    return report_failures(bad, said=None) or (ReportedFailures(whole=True) if found else None)


HOOKS = "pre-commit"
_HOOK_ENDS = ("Failed", "Passed", "Skipped")

FORMATS = (
    ReportFormat("rspec", (" examples, ", " example, "), _rspec),
    ReportFormat("minitest", (" assertions, ",), _minitest),
    ReportFormat("PHPUnit", ("Assertions: ", "OK ("), _phpunit),
    ReportFormat("ExUnit", (" tests, ", " test, "), _exunit),
    ReportFormat("Maven", ("Tests run: ",), _read_maven),
    ReportFormat("Gradle", ("> Task :", " tests completed, ", " test completed, "), _gradle),
    ReportFormat(HOOKS, ("...Failed", "...Passed"), _hooks),
)
