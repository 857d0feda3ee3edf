"""Advisories about packages, and the alerts that a repository has because of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from univers.version_range import (
    RANGE_CLASS_BY_SCHEMES,
    build_range_from_github_advisory_constraint,
)

from app.simulator.github.accounts import Account, Thing

if TYPE_CHECKING:
    from app.simulator.github.state.world import Repository

Severity = Literal["low", "medium", "high", "critical"]
AlertState = Literal["open", "fixed", "dismissed", "auto_dismissed"]
AdvisoryKind = Literal["reviewed", "unreviewed", "malware"]
SCHEMES = {"pip": "pypi", "rubygems": "gem", "go": "golang", "rust": "cargo", "erlang": "hex"}
"""What univers calls an ecosystem where GitHub has another name for it."""


@dataclass(frozen=True)
class Affected:
    """One package of an advisory with one range of vulnerable versions."""

    ecosystem: str
    package: str
    vulnerable: str
    """As GitHub writes it, like `>= 3.0, < 3.1.4`."""
    first_patched: str | None = None
    severity: Severity | None = None
    """None: that of the advisory."""

    def holds(self, version: str) -> bool:
        """Say whether a version is vulnerable; what is no version of the ecosystem is not."""
        scheme = SCHEMES.get(self.ecosystem, self.ecosystem)
        if scheme not in RANGE_CLASS_BY_SCHEMES:
            scheme = "generic"
        try:
            within = build_range_from_github_advisory_constraint(scheme, self.vulnerable)
            return within.version_class(version) in within
        except (ValueError, TypeError):
            return False


@dataclass(eq=False, kw_only=True)
class Advisory(Thing):
    """What is wrong with some versions of some packages; published when it is made."""

    ghsa_id: str
    affected: list[Affected]
    severity: Severity
    summary: str
    description: str
    updated_at: datetime
    cve_id: str | None = None
    kind: AdvisoryKind = "reviewed"
    withdrawn_at: datetime | None = None
    references: list[str] = field(default_factory=list)
    cwes: dict[str, str] = field(default_factory=dict)
    """Kinds of weakness, like CWE-79, by name."""

    prefix = "GSA"


@dataclass(eq=False, kw_only=True)
class Alert(Thing):
    """A vulnerable dependency of a repository, found in one of its files."""

    repository: Repository
    number: int
    advisory: Advisory
    affected: Affected
    manifest_path: str
    scope: Literal["runtime", "development"] | None
    relationship: Literal["direct", "transitive", "unknown", "inconclusive"] | None
    updated_at: datetime
    state: AlertState = "open"
    dismissed_at: datetime | None = None
    dismissed_by: Account | None = None
    dismissed_reason: str | None = None
    dismissed_comment: str | None = None
    fixed_at: datetime | None = None
    auto_dismissed_at: datetime | None = None

    prefix = "RVA"

    @property
    def severity(self) -> Severity:
        """Return how bad it is."""
        return self.affected.severity or self.advisory.severity
