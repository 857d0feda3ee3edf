"""Parse test runners' and linters' output into failures by name."""

from __future__ import annotations

from agents.analysis.check_failures.compare import confirm_failures, find_new_failures
from agents.analysis.check_failures.read import read_failures
from agents.analysis.check_failures.reported import FailuresByProgram

__all__ = ["FailuresByProgram", "confirm_failures", "find_new_failures", "read_failures"]
