"""What a scan finds: one package's alerts, its copies, and how far they reach into the code."""

from __future__ import annotations

from typing import Literal

from agents.pipelines.remediate.ladder import Group
from agents.requests import Frozen, Retire, Severity

Affected = Literal["yes", "no", "unsure"]


class FoundCopy(Frozen):
    """One copy of the package in the lock file."""

    version: str
    vulnerable: bool
    paths: tuple[tuple[str, ...], ...] = ()
    """From the repository's own requirement to the copy, shortest first, at most a few."""


class TriageResult(Frozen):
    """How far one alert reaches into the repository."""

    alert: int
    ghsa_id: str
    cve_id: str = ""
    severity: Severity
    affected: Affected
    """`unsure` counts as affected: nothing shows that it is not."""
    evidence: tuple[str, ...] = ()
    """What shows it: files with lines, or how the package comes in."""
    risk: Severity
    """The severity, seen with how the package is used."""
    why: str = ""
    """In a sentence; a model's where `judged`, and untrusted then."""
    judged: bool = False


class AlertGroup(Frozen):
    """One package in one folder of one repository: what all later stages are given."""

    commit: str
    """The commit that was looked at."""
    group: Group
    tool: str = ""
    """Which tool's lock file it is; empty: one that the ladder does not know."""
    copies: tuple[FoundCopy, ...] = ()
    triage: tuple[TriageResult, ...] = ()
    note: str = ""
    """What could not be found out, and why."""
    left: str = ""
    """Which files with alerts about the package are for other runs, and why; empty: none."""
    over: str = ""
    """Why nothing is to be done; empty: something is."""
    by_hand: str = ""
    """How people mend it, where neither code nor a model here could; empty: it is tried."""
    assess: Literal["never", "unclear", "always"] = "never"
    """Of which alerts a model judges how far they reach."""
    retire: Retire | None = None
    """The override to do without, where that is what is asked: then it may hold all copies safe."""
    closed: tuple[int, ...] = ()
    """The alerts that are not open any more, and that the override was made for."""
    let_go: bool = False
    """The override need not be looked at again: it is gone, or people have made it theirs."""
    companions: tuple[AlertGroup, ...] = ()
    """Other packages of the same lock file that a fix may take along, the worst first."""

    @property
    def name(self) -> str:
        """Return the package's name."""
        return self.group.package

    @property
    def alerts(self) -> frozenset[int]:
        """Return the numbers of the package's alerts."""
        return frozenset(each.alert for each in self.group.advisories if each.alert)

    @property
    def unclear(self) -> tuple[TriageResult, ...]:
        """Return the alerts whose reach code could not tell."""
        return tuple(each for each in self.triage if each.affected == "unsure")

    @property
    def to_assess(self) -> tuple[TriageResult, ...]:
        """Return the alerts of which a model is to judge how far they reach."""
        return {"never": (), "unclear": self.unclear, "always": self.triage}[self.assess]

    @property
    def wants_assessing(self) -> bool:
        """Return whether a model is to judge any of it, companions included."""
        return any(each.to_assess for each in (self, *self.companions))

    @property
    def vulnerable(self) -> tuple[str, ...]:
        """Return the versions that have to move."""
        return tuple(dict.fromkeys(each.version for each in self.copies if each.vulnerable))
