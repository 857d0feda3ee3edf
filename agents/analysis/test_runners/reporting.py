"""The command lines that run a check so that its runner writes a report, and that show reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources

from agents.analysis.check_failures.lines import is_truncated
from agents.analysis.test_runners.call import RunnerCall
from agents.analysis.test_runners.registry import RUNNERS, list_left
from agents.analysis.test_runners.runner import NOTHING, Additions, ReportKind


def make_argv(
    command: str, call: RunnerCall | None, given: Additions, *, asking: bool = True
) -> list[str]:
    """Return what runs a check's command so that its runner writes a report, where it can.

    `given`: what is added besides; `asking`: whether arguments ask for a report. The last word is
    the command.
    """
    kind = _find_kind(call) if asking else None
    asked = _ask_all().join(kind.asked if kind else NOTHING)
    asked = asked.join(call.runner.verbose if call and asking else NOTHING)
    arguments = call.pass_on((*asked.arguments, *given.arguments)) if call else ()
    before = len(call.before) if call and arguments else 0
    return [
        *("bash", "-c", _read_script("run_reporting.sh"), "check"),
        (kind and kind.supported) or "true",
        kind.file if kind and kind.takes_output else "",
        kind.reporter if kind else "",
        _read_script(kind.reporter) if kind and kind.reporter else "",
        *_list_variables(given.variables),
        *_list_variables(asked.variables),
        str(before),
        str(len(asked.arguments)),
        *arguments,
        call.line if call and arguments else command,
    ]


def make_collecting_argv(mark: str) -> list[str]:
    """Return what writes out the reports that are newer than the run, for `split_files`.

    `mark`: stands before each of them, and is known to nobody who could write it there.
    """
    named = [word for name in list_left() for word in ("-o", "-name", name)]
    return ["bash", "-c", _read_script("collect_reports.sh"), "collect", mark, *named[1:]]


def split_files(output: str, mark: str) -> list[tuple[str, str]]:
    """Return names and texts of the reports; none where not all of it was kept.

    Paths in them are relative to the repository's root, as in the output for people.
    """
    if is_truncated(output.splitlines()):
        return []
    _, *parts = output.split(f"\n{mark} ")
    named = [part.partition("\n") for part in parts]
    root = next((text for name, _, text in named if name == "."), "")
    return [
        (name, text.replace(f'"{root}/', '"'))
        for name, _, text in named
        if name != "." and text.strip()
    ]


def _find_kind(call: RunnerCall | None) -> ReportKind | None:
    """Return the report of the runner that is called, if it is to be asked for."""
    kind = call.runner.report if call else None
    if call is None or kind is None or kind.through_others:
        return None
    taken = any(word.startswith(kind.not_with) for word in call.words if kind.not_with)
    if taken:
        both = kind.beside(call.words) if kind.beside else None
        if both is None:
            return None
        kind = replace(kind, asked=both)
    reached = call.takes_arguments or not kind.asked.arguments
    return kind if kind.file and reached else None


@cache
def _ask_all() -> Additions:
    """Return what asks the runners that hear through whatever calls them."""
    chosen = NOTHING
    for each in RUNNERS:
        if each.report and each.report.through_others:
            chosen = chosen.join(each.report.asked)
    return chosen


def _list_variables(variables: Mapping[str, str]) -> list[str]:
    return [str(len(variables)), *(f"{name}={value}" for name, value in variables.items())]


@cache
def _read_script(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
