"""The findings of a remediation: open alerts, copies in lock files, reach."""

from __future__ import annotations

from agents.pipelines.remediate.findings.companions import with_companions
from agents.pipelines.remediate.findings.found import AlertGroup
from agents.pipelines.remediate.findings.locate import known_ecosystem
from agents.pipelines.remediate.findings.wanted import make_terms

__all__ = ["AlertGroup", "known_ecosystem", "make_terms", "with_companions"]
