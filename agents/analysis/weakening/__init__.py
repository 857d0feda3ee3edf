"""Detect in a diff how a change weakens a repository's tests and checks."""

from __future__ import annotations

from agents.analysis.weakening.diff_views import (
    LONGEST,
    FileDiff,
    Unreadable,
    ViewLine,
    read_diff,
)
from agents.analysis.weakening.find import find_unseen_tests, find_weakening
from agents.analysis.weakening.finding import Finding, make_finding
from agents.analysis.weakening.removed_tests import RemovedTests, count_removed_tests
from agents.analysis.weakening.settings_files import is_settings
from agents.analysis.weakening.test_cases import list_cases, select_tests
from agents.analysis.weakening.test_changes import find_lost_line, list_suites

__all__ = [
    "LONGEST",
    "FileDiff",
    "Finding",
    "RemovedTests",
    "Unreadable",
    "ViewLine",
    "count_removed_tests",
    "find_lost_line",
    "find_unseen_tests",
    "find_weakening",
    "is_settings",
    "list_cases",
    "list_suites",
    "make_finding",
    "read_diff",
    "select_tests",
]
