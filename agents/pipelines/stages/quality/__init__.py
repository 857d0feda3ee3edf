"""The repository's own checks: find them, run them, and say in words what they say of a change."""

from __future__ import annotations

from agents.pipelines.stages.quality.flaky import format_known
from agents.pipelines.stages.quality.results import Baseline, CheckComparison, CheckResult
from agents.pipelines.stages.quality.run import (
    check_quality,
    compare_checks,
    format_output,
    measure_base,
    some_names,
    tally,
    to_code,
)
from agents.pipelines.stages.quality.verification import (
    VerifiedChange,
    checks_table,
    format_untold,
    headline,
)

__all__ = [
    "Baseline",
    "CheckComparison",
    "CheckResult",
    "VerifiedChange",
    "check_quality",
    "checks_table",
    "compare_checks",
    "format_known",
    "format_output",
    "format_untold",
    "headline",
    "measure_base",
    "some_names",
    "tally",
    "to_code",
]
