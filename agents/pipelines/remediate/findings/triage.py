"""Judge an alert's reach by code; what code cannot tell stays `unsure`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agents.pipelines.remediate.findings.found import Affected, FoundCopy, TriageResult
from agents.pipelines.remediate.findings.reach import (
    SHOWN,
    SUFFIXES,
    CodeLocation,
    imports,
    modules,
    symbols,
    uses,
)
from agents.pipelines.remediate.ladder import Advisory
from agents.requests import Severity

_ORDER: Sequence[Severity] = ("low", "medium", "high", "critical")
_NO_COPY = "No copy of the package is in a vulnerable range."
_USED = "The code imports the package and uses what the advisory names."
_IMPORTED = "The code imports the package; the advisory names nothing that could be looked for."
_UNUSED = "The code imports the package, but nothing that the advisory names was found in it."
_THROUGH = "The code does not import it; it comes in through {parents}."
_DIRECT = "The code asks for it, but no import of it was found."
_UNSEARCHED = "Fettle cannot search the code of this ecosystem for imports."
_NO_CODE = "The repository has no code that could import it: no file of its language was found."


@dataclass
class Reach:
    """Everything that was found in the code about one package."""

    ecosystem: str
    package: str
    searchable: bool
    imported: list[CodeLocation] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    """The files that import it."""

    def look(self, path: str, text: str) -> None:
        """Take one file into account."""
        found = imports(path, text, self.modules)
        if found:
            self.imported += found
            self.texts[path] = text

    @property
    def modules(self) -> tuple[str, ...]:
        """Return what the package is imported as."""
        return modules(self.ecosystem, self.package)


def triage(
    advisories: Iterable[Advisory], copies: Sequence[FoundCopy], reach: Reach, *, located: bool
) -> tuple[TriageResult, ...]:
    """Return what can be told of each alert; `located`: whether the copies are known at all."""
    return tuple(_one(advisory, copies, reach, located=located) for advisory in advisories)


def _one(
    advisory: Advisory, copies: Sequence[FoundCopy], reach: Reach, *, located: bool
) -> TriageResult:
    affected, why, places = _judge_advisory(advisory, copies, reach, located=located)
    evidence = [*map(str, places[:SHOWN]), *_ways(copies)]
    return TriageResult(
        alert=advisory.alert,
        ghsa_id=advisory.ghsa_id,
        cve_id=advisory.cve_id,
        severity=advisory.severity,
        affected=affected,
        evidence=tuple(evidence),
        risk=risk(advisory, affected),
        why=why,
    )


def risk(advisory: Advisory, affected: Affected) -> Severity:
    """Return the severity, a step lower for each of: not surely reached, development alone."""
    if affected == "no":
        return "low"
    steps = (affected == "unsure") + (advisory.scope == "development")
    return _ORDER[max(0, _ORDER.index(advisory.severity) - steps)]


def _judge_advisory(
    advisory: Advisory, copies: Sequence[FoundCopy], reach: Reach, *, located: bool
) -> tuple[Affected, str, list[CodeLocation]]:
    if located and not any(copy.vulnerable for copy in copies):
        return "no", _NO_COPY, []
    if not reach.searchable:
        return "unsure", _NO_CODE if reach.ecosystem in SUFFIXES else _UNSEARCHED, []
    if not reach.imported:
        parents = ", ".join(dict.fromkeys(p[-2] for c in copies for p in c.paths if len(p) > 1))
        return "unsure", _THROUGH.format(parents=parents) if parents else _DIRECT, []
    wanted = symbols(advisory, reach.modules)
    used = [place for path, text in reach.texts.items() for place in uses(path, text, wanted)]
    if used:
        return "yes", _USED, [*used, *reach.imported]
    return ("unsure", _UNUSED, reach.imported) if wanted else ("yes", _IMPORTED, reach.imported)


def _ways(copies: Sequence[FoundCopy]) -> list[str]:
    return [
        f"{copy.version} by {' → '.join(copy.paths[0])}"
        for copy in copies[:SHOWN]
        if copy.vulnerable and copy.paths
    ]
