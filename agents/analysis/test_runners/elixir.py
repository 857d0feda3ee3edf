"""mix test: run it with a formatter of ours, since ExUnit itself writes no report for programs.

Mix takes formatters by their modules' names and loads no file of them, so Erlang is told to, before
Mix begins: https://hexdocs.pm/mix/Mix.Tasks.Test.html, https://www.erlang.org/doc/apps/erts/erl_cmd
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.analysis.test_runners.reporter_lines import read_lines
from agents.analysis.test_runners.runner import (
    REPORTS,
    Additions,
    CommandWords,
    ReportKind,
    TestRunner,
)

_CASE = re.compile(r"((?:test|doctest|property) .+) \([\w.]+\)$")
_REPORTER = "exunit_reporter.exs"
_LOADS = (  # words without spaces: a shell splits the variable
    "-eval application:ensure_all_started(elixir),"
    f"'Elixir.Code':require_file(<<\"{REPORTS}/{_REPORTER}\">>)."
)
_FOR_PROGRAMS = ("--formatter", "Fettle.ExUnitReporter")
_FOR_PEOPLE = ("--formatter", "ExUnit.CLIFormatter")


def _select(names: Sequence[str]) -> Additions | None:
    """Select by the tag that ExUnit gives each test itself.

    https://hexdocs.pm/ex_unit/ExUnit.Case.html#module-known-tags
    """
    found = [_CASE.match(name) for name in names]
    words = [word for each in found if each for word in ("--only", f"test:{each[1]}")]
    return Additions(tuple(words)) if len(words) == 2 * len(names) else None


def _ask(*formatters: str) -> Additions:
    return Additions(formatters, {"ELIXIR_ERL_OPTIONS": _LOADS})


def _report_beside(_words: CommandWords) -> Additions:
    """Add the report's formatter to those of a call."""
    return _ask(*_FOR_PROGRAMS)


MIX = TestRunner(
    "ExUnit",
    _select,
    (("mix", "test"),),
    ReportKind(
        read_lines,
        "exunit.json",
        _ask(*_FOR_PROGRAMS, *_FOR_PEOPLE),
        not_with=("--formatter",),
        beside=_report_beside,
        reporter=_REPORTER,
    ),
)
