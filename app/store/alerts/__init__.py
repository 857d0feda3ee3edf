"""Alerts: when they are looked at, the runs about them, and what those came to."""

from __future__ import annotations

from app.store.alerts.overrides import Override, Overrides
from app.store.alerts.poll_times import PERMISSION, AlertLooks, Due, repository_of
from app.store.alerts.remediations import STATES, Remediation, Remediations
from app.store.alerts.runs import AlertRuns

__all__ = [
    "PERMISSION",
    "STATES",
    "AlertLooks",
    "AlertRuns",
    "Due",
    "Override",
    "Overrides",
    "Remediation",
    "Remediations",
    "repository_of",
]
