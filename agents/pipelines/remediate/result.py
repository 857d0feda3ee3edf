"""The outcome of a remediation for programs: exit codes, batches, counters."""

from __future__ import annotations

from typing import Literal

from agents.pipelines.remediate.work import Work
from agents.run import Outcome

Result = Literal[
    "fixed",  # a fix stands: published, or only made where that was asked for
    "nothing_to_do",  # no alert, no vulnerable copy, or others are at it
    "fix_failed",  # no way was found
    "verify_failed",  # ways were found, and none of them stood
    "infra_error",  # it never came to that: no tool, no way to the indexes, a limit, a cancel
    "scanned",  # a dry run
]
PREFIX = "remediate/"


def rule_of(result: Result) -> str:
    """Return the rule by which an outcome says its result."""
    return f"{PREFIX}{result}"


def result_of(outcome: Outcome) -> Result:
    """Return the result of a run's outcome; one that says none never got that far."""
    results: tuple[Result, ...] = (
        "fixed",
        "nothing_to_do",
        "fix_failed",
        "verify_failed",
        "scanned",
    )
    said = (outcome.rule or "").removeprefix(PREFIX)
    return next((each for each in results if each == said), "infra_error")


def failure(work: Work) -> Result:
    """Return what it was that failed."""
    if work.failed:
        return "verify_failed"
    cause = work.refusal.cause if work.refusal else ""
    if cause == "nothing_to_do":
        return "nothing_to_do"
    return "infra_error" if cause == "no_tool" else "fix_failed"
