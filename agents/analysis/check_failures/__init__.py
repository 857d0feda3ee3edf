"""Parse test runners' and linters' output into failures by name."""

from __future__ import annotations

from agents.analysis.check_failures.compare import (
    NEVER_COUNTED,
    Comparison,
    ComparisonVerdict,
    compare,
    confirm_failures,
    explain_no_start,
    has_failed,
    list_names,
)
from agents.analysis.check_failures.read import read_failures
from agents.analysis.check_failures.reported import FailuresByProgram

__all__ = [
    "NEVER_COUNTED",
    "Comparison",
    "ComparisonVerdict",
    "FailuresByProgram",
    "compare",
    "confirm_failures",
    "explain_no_start",
    "has_failed",
    "list_names",
    "read_failures",
]
