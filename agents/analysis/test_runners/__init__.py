"""Runners of tests: what has each write a report, how that is read, and how tests are selected."""

from __future__ import annotations

from agents.analysis.test_runners.call import ARGUMENTS, RunnerCall, find_manifest
from agents.analysis.test_runners.registry import (
    find_runner_call,
    join_reports,
    list_left,
    read_reports,
    render_reports,
    run_afresh,
    select_tests,
)
from agents.analysis.test_runners.reporting import make_argv, make_collecting_argv, split_files
from agents.analysis.test_runners.runner import NOTHING, Additions
from agents.analysis.test_runners.steps import (
    list_step_files,
    list_touched_steps,
    runs_several,
)
from agents.analysis.test_runners.unheard_steps import (
    find_unheard,
    list_program_files,
    list_script_files,
)

__all__ = [
    "ARGUMENTS",
    "NOTHING",
    "Additions",
    "RunnerCall",
    "find_manifest",
    "find_runner_call",
    "find_unheard",
    "join_reports",
    "list_left",
    "list_program_files",
    "list_script_files",
    "list_step_files",
    "list_touched_steps",
    "make_argv",
    "make_collecting_argv",
    "read_reports",
    "render_reports",
    "run_afresh",
    "runs_several",
    "select_tests",
    "split_files",
]
