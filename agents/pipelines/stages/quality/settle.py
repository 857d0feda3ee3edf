"""Settle which of the found checks count, by what they say of the default branch itself.

A check that could not even tell that the default branch is no worse than itself tells nothing of
any change. Where it was only added or guessed, others may do without it. A workflow's `make test`
that needs what is not here, such as tox or a container, must not hide what could run instead.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agents.analysis.check_failures import compare
from agents.analysis.languages import find_folder
from agents.pipelines.stages.quality.find import FoundChecks, list_stand_ins
from agents.pipelines.stages.quality.results import COMMAND_LIMIT, CheckResult, RepositoryCheck
from agents.run import StageContext
from agents.text import code_span, one_line

_DROPPED = (
    "; {command} would run all tests, of which its workflows run parts, and is left out, since it"
    " could tell nothing of the default branch itself"
)
_REPLACED = "; {command} ran no test here, and {other} runs in its place"
_LINTER_NOT_HERE = (
    "; {command} is left out: a program that it calls is not in the sandbox, and nobody named it"
)
_LINTS = re.compile(r"(?:lint|types|format|vet)\b")
_NO_PROGRAM = re.compile(
    r"^(?:make(?:\[\d+\])?: [\w./-]+: (?:No such file or directory|Permission denied)"
    r"|.{0,200}\b(?:command not found|: not found)|.{0,80}No module named [\w.'\"]+)\r?$",
    re.MULTILINE,
)
_BUILDS = re.compile(r"\b(?:ctest|meson) ")
_TASKS = re.compile(r"(?:^|&& )(?:[A-Z_]\w*=\S* )*(?:make|just|task) ")

Measure = Callable[[RepositoryCheck], Awaitable[CheckResult]]


@dataclass(frozen=True)
class SettledChecks:
    """The checks that count, as they ended on the default branch."""

    checks: tuple[RepositoryCheck, ...]
    runs: tuple[CheckResult, ...]
    remarks: str = ""
    """What does not count, and why, for people."""
    left_out: tuple[str, ...] = ()
    """Commands of workflows that did not run, nor anything that they are part of."""
    missing: tuple[str, ...] = ()
    """The commands of those that cannot run, and have nothing in their place."""


async def settle(
    run: StageContext, found: FoundChecks, runs: Sequence[CheckResult], measure: Measure
) -> SettledChecks:
    """Return what counts; `measure` runs a check on the default branch."""
    kept: list[tuple[RepositoryCheck, CheckResult]] = []
    remarks: list[str] = []
    served: list[str] = []
    for check, ended in zip(found.checks, runs, strict=True):
        if check.run in found.besides and compare([ended], ended).why:
            remarks.append(_DROPPED.format(command=_code(check.run)))
            continue
        if _lacks_linter(ended):
            remarks.append(_LINTER_NOT_HERE.format(command=_code(check.run)))
            continue
        served.append(check.run)
        pair = await _find_next(run, found, ended, measure)
        other = "" if pair or not _is_silent(ended) else _find_in_place_of(found, runs, ended)
        if instead := other or (pair and pair[0].run):
            said = {"command": _code(check.run), "other": _code(instead)}
            remarks.append(_REPLACED.format_map(said))
        if not instead or pair:
            kept.append(pair or _trust_exit_code(found, runs, check, ended))
    return SettledChecks(
        checks=tuple(check for check, _ in kept),
        runs=tuple(ended for _, ended in kept),
        remarks="".join(remarks),
        left_out=found.list_left_out(served),
        missing=tuple(each for each in found.missing if not _is_done_by_build(found, runs, each)),
    )


async def _find_next(
    run: StageContext, found: FoundChecks, ended: CheckResult, measure: Measure
) -> tuple[RepositoryCheck, CheckResult] | None:
    """Return the next check of the same subject, where this one said nothing and that one does."""
    if not _is_silent(ended):
        return None
    for check in await list_stand_ins(run, found, ended.command):
        other = await measure(check)
        if not compare([other], other).why:
            return check, other
    return None


def _trust_exit_code(
    found: FoundChecks, runs: Sequence[CheckResult], check: RepositoryCheck, ended: CheckResult
) -> tuple[RepositoryCheck, CheckResult]:
    """Return them; a guessed task that passes and counts nothing as if people had named it.

    Its exit code has to do beside tests that are counted: that tests run at all, these show.
    """
    uncounted = not ended.named and not ended.exit_code and not ended.failures.counted
    if not uncounted or not _find_other(found, runs, ended.command):
        return check, ended
    named = {"named": True}
    return check.model_copy(update=named), ended.model_copy(update=named)


def _is_done_by_build(found: FoundChecks, runs: Sequence[CheckResult], command: str) -> bool:
    """Return whether CMake or Meson runs the tests of a guessed task that is not there.

    Projects that can be built by more than one keep one list of tests.
    """
    other = _find_other(found, runs, command) if command in found.guessed else ""
    return bool(_BUILDS.search(other))


def _find_other(found: FoundChecks, runs: Sequence[CheckResult], command: str) -> str:
    """Return another check that runs the tests there, where this one is a task that says nothing.

    What a task runs, nobody can tell: in a repository of Go alone it is Go's tests.
    """
    if not _TASKS.search(command) or found.stand_ins.get(command):
        return ""
    folder = find_folder(command)
    others = (
        each.command
        for each in runs
        if each.failures.of_tests
        and each.command in found.families
        and each.command != command
        and find_folder(each.command) == folder
        and not (_is_silent(each) or compare([each], each).why)
    )
    return next(others, "")


def _find_in_place_of(found: FoundChecks, runs: Sequence[CheckResult], ended: CheckResult) -> str:
    """Return another check that runs the tests there, where this one ran none.

    Where a guessed build has no tests, a task may have its own program for them.
    """
    if ended.named or not _BUILDS.search(ended.command):
        return _find_other(found, runs, ended.command)
    folder = find_folder(ended.command)
    others = (
        each.command
        for each in runs
        if _TASKS.search(each.command)
        and each.failures.ran
        and find_folder(each.command) == folder
        and not compare([each], each).why
    )
    return next(others, "")


def _lacks_linter(ended: CheckResult) -> bool:
    """Return whether a guessed task that lints failed for want of a program.

    Maintainers may have it in their editors alone: that it is not here says nothing of a change.
    """
    guessed = not ended.named and _LINTS.match(ended.name) and _TASKS.search(ended.command)
    return bool(guessed and ended.exit_code and _NO_PROGRAM.search(ended.output))


def _is_silent(ended: CheckResult) -> bool:
    """Return whether no test ran, as far as anybody can tell, and nothing was told of any."""
    if ended.stopped or not ended.failures.of_tests:
        return False
    return ended.failures.ran == 0 or bool(ended.exit_code and not ended.failures.programs)


def _code(command: str) -> str:
    return code_span(one_line(command, COMMAND_LIMIT))
