"""The repository's own checks: find them, run them, and say in words what they say of a change."""

from __future__ import annotations

from agents.pipelines.stages.quality.exit_status import format_by_exit_status
from agents.pipelines.stages.quality.flaky import format_known
from agents.pipelines.stages.quality.results import Baseline, CheckComparison, CheckResult
from agents.pipelines.stages.quality.run import (
    check_quality,
    compare_checks,
    format_output,
    look_at_checks,
    measure_base,
    some_names,
    tally,
    to_code,
)
from agents.pipelines.stages.quality.second_look import (
    SECOND_LOOK,
    hold_to,
    look_again,
    may_look_again,
)
from agents.pipelines.stages.quality.unchecked import Unchecked, find_unchecked_parts
from agents.pipelines.stages.quality.verification import (
    VerifiedChange,
    checks_table,
    format_image,
    format_own_setup,
    format_setup_remarks,
    format_untold,
    headline,
)

__all__ = [
    "SECOND_LOOK",
    "Baseline",
    "CheckComparison",
    "CheckResult",
    "Unchecked",
    "VerifiedChange",
    "check_quality",
    "checks_table",
    "compare_checks",
    "find_unchecked_parts",
    "format_by_exit_status",
    "format_image",
    "format_known",
    "format_output",
    "format_own_setup",
    "format_setup_remarks",
    "format_untold",
    "headline",
    "hold_to",
    "look_again",
    "look_at_checks",
    "may_look_again",
    "measure_base",
    "some_names",
    "tally",
    "to_code",
]
