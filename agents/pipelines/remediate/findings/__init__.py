"""The findings of a remediation: open alerts, copies in lock files, reach."""

from __future__ import annotations

from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.findings.companions import with_companions
from agents.pipelines.remediate.findings.eligibility import make_terms
from agents.pipelines.remediate.findings.locate import known_ecosystem

__all__ = ["AlertGroup", "known_ecosystem", "make_terms", "with_companions"]
