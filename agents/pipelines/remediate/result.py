"""Read how a remediation ended from what its run left behind."""

from __future__ import annotations

from agents.pipelines.remediate.work import Work
from agents.remediation import PREFIX, Result
from agents.run import Outcome


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
