"""What `fettle scan` and `fettle remediate` tell in the end: a value that people and programs read.

The JSON of a scan is what `--from-scan` takes, so its names stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal, get_args

from pydantic import ValidationError

from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.ladder import Group
from agents.remediation import Result, result_of
from agents.requests import Frozen, Severity
from agents.run import Outcome

ReportedResult = Literal[Result, "waits"]
"""How it ended; `waits`: for a person, who is not here."""

EXIT_CODES: dict[ReportedResult, int] = {
    "fixed": 0,
    "scanned": 0,
    "waits": 2,
    "unverified": 2,
    "by_hand": 2,
    "nothing_to_do": 3,
    "fix_failed": 4,
    "verify_failed": 5,
    "infra_error": 6,
}
MADE = ("fixed", "unverified")
WORST: tuple[ReportedResult, ...] = (
    *("infra_error", "verify_failed", "fix_failed", "waits", "by_hand", "unverified"),
    *("fixed", "scanned", "nothing_to_do"),
)
"""Of several, the first of these is how all of it ended."""
SEVERITIES: tuple[Severity, ...] = tuple(reversed(get_args(Severity)))


class GroupReport(Frozen):
    """What came of one package in one folder."""

    ecosystem: str
    package: str
    directory: str = ""
    alerts: tuple[int, ...] = ()
    severity: Severity | None = None
    """The highest of its alerts."""
    result: ReportedResult
    text: str
    """In a sentence; parts of it are other people's words."""
    report: str = ""
    """All of it, as Markdown that is safe to publish."""
    level: int | None = None
    """The rung of the ladder that fixed it; None: another way did, or it is not fixed."""
    made_by: str = ""
    """`ladder`, `engineer` or `other`, for another bot's pull request that does it."""
    moved: tuple[str, ...] = ()
    """What moved where to, like `jinja2 3.1.3 -> 3.1.4`."""
    url: str = ""
    """Its pull request."""
    branch: str = ""
    commit: str = ""
    """The newest of its branch."""
    run: str = ""
    tokens: int = 0
    usd: float = 0.0
    found: AlertGroup | None = None
    """What the scan found; None where it did not get that far."""
    along: tuple[str, ...] = ()
    """Other packages of the same lock file that the fix took along."""


class RepositoryReport(Frozen):
    """What came of one repository."""

    repository: str
    commit: str = ""
    """What was scanned; empty where nothing was."""
    error: str = ""
    """Why nothing could be done with it, or no more; empty: something could."""
    skipped: str = ""
    """Why nothing was to be done with it; empty: something was."""
    groups: tuple[GroupReport, ...] = ()

    @property
    def result(self) -> ReportedResult:
        """Return the worst of its results."""
        results = [each.result for each in self.groups]
        return find_worst([*results, "infra_error"] if self.error else results)


class Totals(Frozen):
    """The numbers of a report."""

    repositories: int
    groups: int
    alerts: int
    results: dict[str, int]
    """How many groups have each result."""
    errors: int
    """Repositories with which nothing could be done."""
    tokens: int
    usd: float


class Report(Frozen):
    """All of it."""

    format: Literal["fettle-remediation/1"] = "fettle-remediation/1"
    command: Literal["scan", "remediate"]
    complete: bool = True
    """Whether everything that was asked for was tried; not when it was stopped before."""
    repositories: tuple[RepositoryReport, ...] = ()
    totals: Totals

    @classmethod
    def from_repositories(
        cls,
        command: Literal["scan", "remediate"],
        repositories: Iterable[RepositoryReport],
        *,
        complete: bool = True,
    ) -> Report:
        """Return the report on these repositories."""
        every = tuple(repositories)
        return cls(command=command, complete=complete, repositories=every, totals=_totals(every))

    @property
    def result(self) -> ReportedResult:
        """Return the worst of all results."""
        return find_worst(each.result for each in self.repositories)

    @property
    def exit_code(self) -> int:
        """Return what the command ends with, unless it was stopped."""
        return EXIT_CODES[self.result]

    @property
    def as_json(self) -> str:
        """Return the report as one JSON object."""
        return json.dumps(self.model_dump(mode="json"), indent=2)  # a terminal obeys no ASCII


def find_worst(results: Iterable[ReportedResult]) -> ReportedResult:
    """Return how all of it ended; of nothing at all, that there was nothing to do."""
    every = set(results)
    return next((each for each in WORST if each in every), "nothing_to_do")


def find_highest(severities: Iterable[Severity]) -> Severity | None:
    """Return the highest of these."""
    every = set(severities)
    return next((each for each in SEVERITIES if each in every), None)


def group_fields(group: Group) -> dict[str, object]:
    """Return the fields of a `GroupReport` that its alerts decide."""
    return {
        "ecosystem": group.ecosystem,
        "package": group.package,
        "directory": group.directory,
        "alerts": tuple(each.alert for each in group.advisories if each.alert),
        "severity": find_highest(each.severity for each in group.advisories),
    }


def left_alone(group: Group, why: str, result: ReportedResult = "nothing_to_do") -> GroupReport:
    """Return the report on a group for which no run was needed, or could be had."""
    return GroupReport.model_validate({**group_fields(group), "result": result, "text": why})


def find_taken_along(group: Group, done: Iterable[GroupReport]) -> GroupReport | None:
    """Return the report on a package that went along with an earlier one's fix; None: it did not.

    It counts like that fix, and cost nothing of its own.
    """
    for each in done:
        same = (each.ecosystem, each.directory) == (group.ecosystem, group.directory)
        if same and each.result in MADE and group.package in each.along:
            text = f"It went along with {each.package}{f': {each.url}' if each.url else '.'}"
            names = ("url", "branch", "commit", "run")
            like = {name: getattr(each, name) for name in names}
            return left_alone(group, text, each.result).model_copy(update=like)
    return None


def report_ended(
    group: Group, run_id: str, outcome: Outcome, spent: tuple[int, float]
) -> GroupReport:
    """Return the report on a group whose run has ended."""
    details = outcome.details if isinstance(outcome.details, dict) else {}
    found = _read_group(details.get("found") or details)
    bump = details.get("bump")
    fixed = bump if isinstance(bump, dict) and result_of(outcome.rule) in MADE else {}
    pull = outcome.pull_request
    return GroupReport.model_validate(
        {
            **group_fields(found.group if found and found.group.advisories else group),
            "result": result_of(outcome.rule),
            "text": outcome.text,
            "report": outcome.report,
            "level": fixed.get("level"),
            "made_by": fixed.get("by") or "",
            "moved": _format_moves(fixed.get("moves")),
            "url": outcome.url or "",
            "branch": pull.branch if pull else "",
            "commit": pull.head if pull else "",
            "run": run_id,
            "tokens": spent[0],
            "usd": round(spent[1], 6),
            "found": found,
            "along": _list_along(details.get("companions")) if fixed else (),
        }
    )


def _list_along(companions: object) -> tuple[str, ...]:
    """Return the names of the packages; they are as the run has stored them."""
    if not isinstance(companions, list):
        return ()
    return tuple(each["found"]["group"]["package"] for each in companions)


def _read_group(value: object) -> AlertGroup | None:
    if not isinstance(value, dict) or "group" not in value:
        return None
    try:
        return AlertGroup.model_validate({k: v for k, v in value.items() if k != "result"})
    except ValidationError:  # stored by a server of another version
        return None


def _format_moves(moves: object) -> tuple[str, ...]:
    """Return the moves in words; they are as the run has stored them."""
    if not isinstance(moves, list):
        return ()
    return tuple(
        f"{each['name']} {', '.join(each['old']) or 'absent'} -> {', '.join(each['new']) or 'gone'}"
        for each in moves
    )


def _totals(repositories: tuple[RepositoryReport, ...]) -> Totals:
    groups = [group for each in repositories for group in each.groups]
    counted = {
        ending: count
        for ending in EXIT_CODES
        if (count := sum(group.result == ending for group in groups))
    }
    return Totals(
        repositories=len(repositories),
        groups=len(groups),
        alerts=sum(len(group.alerts) for group in groups),
        results=dict(counted),
        errors=sum(bool(each.error) for each in repositories),
        tokens=sum(group.tokens for group in groups),
        usd=round(sum(group.usd for group in groups), 6),
    )
