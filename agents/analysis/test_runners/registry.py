"""All runners of tests that Fettle can tell what to do, and what is read and selected of them.

To teach Fettle another one, write its file beside this one and name it here; its output for people
is read by a `ReportFormat` of the same name in `agents/analysis/check_failures`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from agents.analysis.check_failures.c_family import NAMES as TEST_PROGRAMS
from agents.analysis.check_failures.read import MOST
from agents.analysis.check_failures.reported import (
    ALL_OF_IT,
    FailuresByProgram,
    ReportedFailures,
)
from agents.analysis.test_runners.c_family import CTEST, MESON
from agents.analysis.test_runners.call import RunnerCall, find_call
from agents.analysis.test_runners.dotnet import DOTNET
from agents.analysis.test_runners.elixir import MIX
from agents.analysis.test_runners.go import GO
from agents.analysis.test_runners.javascript import BUN, JEST, MOCHA, NODEJS, VITEST
from agents.analysis.test_runners.jvm import GRADLE, MAVEN
from agents.analysis.test_runners.php import PHPUNIT
from agents.analysis.test_runners.python import PYTEST, UNITTEST
from agents.analysis.test_runners.ruby import RSPEC
from agents.analysis.test_runners.runner import NOTHING, Additions, TestRunner
from agents.analysis.test_runners.rust import CARGO

MOST_SELECTED = 40  # tests: more than these are quicker run with all others
LONGEST_NAMES = 8_000  # characters of all names: lines of arguments have an end

RUNNERS: tuple[TestRunner, ...] = (
    PYTEST,
    UNITTEST,
    JEST,
    VITEST,
    MOCHA,
    NODEJS,
    BUN,
    GO,
    CARGO,
    MAVEN,
    GRADLE,
    RSPEC,
    PHPUNIT,
    DOTNET,
    MIX,
    CTEST,
    MESON,
)
_BY_NAME = {each.name: each for each in RUNNERS}
_SHORTENED = "…"  # stands in names for what differs from run to run


def find_runner_call(command: str, manifest: str = "") -> RunnerCall | None:
    """Return the call of a runner in a check's command, as `find_call` does."""
    return find_call(command, RUNNERS, manifest)


def list_left() -> list[str]:
    """Return the names of files that runners leave in their builds' folders."""
    left = (name for each in RUNNERS if each.report for name in each.report.left)
    return list(dict.fromkeys(left))


def read_reports(
    files: Sequence[tuple[str, str]], programs: Collection[str]
) -> dict[str, ReportedFailures]:
    """Return what the reports of a run say, by the runner's name.

    `files`: the names and texts of reports, which others wrote; `programs`: the names of the
    runners that are known to have run, because what they leave looks alike.
    """
    found = {}
    for runner in RUNNERS:
        kind = runner.report
        if kind is None:
            continue
        left = kind.left if runner.name in programs else ()
        patterns = [each for each in (kind.file, *left) if each]
        texts = [text for name, text in files if any(fnmatchcase(name, p) for p in patterns)]
        if texts and (told := kind.read(texts)):
            found[runner.name] = _limit(told)
    return found


def render_reports(files: Sequence[tuple[str, str]]) -> str:
    """Return what people would have read instead of the reports; mostly nothing is missing."""
    kinds = [each.report for each in RUNNERS if each.report and each.report.render]
    shown = [
        kind.render(text)
        for kind in kinds
        for name, text in files
        if kind.render and name == kind.file
    ]
    return "\n".join(shown)


def join_reports(
    failures: FailuresByProgram, reports: Mapping[str, ReportedFailures], *, exited: bool
) -> FailuresByProgram:
    """Return what a run told in words together with its reports; of two that differ, the worse.

    `exited`: whether the command came to its end by itself.
    """
    told, kept = dict(failures.told), dict[str, ReportedFailures]()
    if any(report.ran for report in reports.values()):
        # CTest and Meson count the programs that they start, so their words are no further tests.
        told = {name: words for name, words in told.items() if name not in TEST_PROGRAMS}
    for name, report in reports.items():
        words = told.get(name)
        whole = report.whole and exited and not (words and words.early)
        if words is None:
            kept[name] = report.model_copy(update={"whole": whole})
        elif words.sessions > max(report.sessions, 1):
            continue  # each session but the last is gone from its file
        elif not report.whole or words.total > report.total:
            continue  # it cannot be read, or hides some
        else:
            update = {"whole": whole, "ran": _count_fewer(name, words, report)}
            kept[name] = report.model_copy(update=update)
            if report.total > words.total:
                told[name] = words.model_copy(update={"whole": False})
    return failures.model_copy(update={"told": told, "reports": kept})


def select_tests(
    failures: FailuresByProgram, names: Sequence[str], call: RunnerCall | None
) -> Additions | None:
    """Return what has the check run just these tests; None where nothing does that.

    Names come from output that others wrote: they are given as whole arguments or values, and one
    that could be taken for an option selects nothing.
    """
    if not 0 < len(names) <= MOST_SELECTED or sum(map(len, names)) > LONGEST_NAMES:
        return None
    if any(_cannot_be_selected(name) for name in names):
        return None
    for program, told in (*failures.reports.items(), *failures.told.items()):
        runner = _BY_NAME.get(program)
        if runner is None or not told.names.keys() >= {*names}:
            continue
        chosen = runner.select(names)
        reached = call is not None and call.runner is runner and call.takes_arguments
        if chosen and (reached or not chosen.arguments):
            return chosen
    return None


def run_afresh(failures: FailuresByProgram, call: RunnerCall | None) -> Additions:
    """Return what has the check's runners run tests again that passed before."""
    called = call.runner if call and call.takes_arguments else None
    known = {*failures.told, *failures.reports} | ({called.name} if called else set())
    chosen = NOTHING
    for runner in (_BY_NAME[name] for name in sorted(known & _BY_NAME.keys())):
        if runner is called or not runner.afresh.arguments:
            chosen = chosen.join(runner.afresh)
    return chosen


def _count_fewer(name: str, words: ReportedFailures, report: ReportedFailures) -> int | None:
    """Return how many tests ran by the one that says fewer, unless words are made of the report."""
    kind = _BY_NAME[name].report
    if words.ran is None or report.ran is None or (kind and kind.render):
        return report.ran
    return min(words.ran, report.ran)


def _cannot_be_selected(name: str) -> bool:
    plain = name.isprintable() and not name.startswith("-")
    return not plain or _SHORTENED in name or name.endswith(ALL_OF_IT)


def _limit(told: ReportedFailures) -> ReportedFailures:
    """Return it with no more names than are kept."""
    if len(told.names) <= MOST:
        return told
    names = dict(list(told.names.items())[:MOST])
    return told.model_copy(update={"names": names, "whole": False})
