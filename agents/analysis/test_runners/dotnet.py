"""dotnet test: Microsoft's TRX, by a logger that is always there, a file for each project.

https://learn.microsoft.com/dotnet/core/tools/dotnet-test
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.named_tests import pack_names
from agents.analysis.check_failures.reported import ReportedFailures
from agents.analysis.test_runners.runner import REPORTS, Additions, ReportKind, TestRunner
from agents.analysis.test_runners.xml_walk import UnreadableReport, walk_xml

_NAME = re.compile(r"([A-Za-z_][\w.+]*)(?:[(<].*)?$")
_BAD = ("Failed", "Error", "Timeout", "Aborted")


def read_trx(texts: Sequence[str]) -> ReportedFailures | None:
    """Return what failed by name; None without a file.

    It is whole only if each run says that it failed by tests which it names, or not at all.
    """
    runs = [_Run() for _ in texts]
    for run, text in zip(runs, texts, strict=True):
        try:
            walk_xml(text, run.begin, lambda _: None)
        except UnreadableReport:
            run.ends.clear()
    names = {normalize_name(name): 1 for run in runs for name in run.bad}
    whole = all(run.says_all for run in runs)
    if not texts:
        return None
    ran = [normalize_name(name) for run in runs for name in run.ran]
    tests = pack_names(ran)
    return ReportedFailures(names=names, whole=whole, ended=True, ran=len(ran), tests=tests)


@dataclass
class _Run:
    """What one file says."""

    bad: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)

    @property
    def says_all(self) -> bool:
        """Return whether it came to its end, and what failed is named."""
        return len(self.ends) == 1 and (self.ends[0] not in _BAD or bool(self.bad))

    def begin(self, tag: str, about: Mapping[str, str]) -> None:
        """Take in an element."""
        outcome = about.get("outcome", "")
        if tag == "ResultSummary":
            self.ends.append(outcome)
        elif tag == "UnitTestResult":
            name = about.get("testName", "")
            self.ran += [name] if outcome != "NotExecuted" else []
            self.bad += [name] if outcome in _BAD else []


def _select(names: Sequence[str]) -> Additions | None:
    found = [_NAME.match(name) for name in names]
    tests = [f"FullyQualifiedName~{each[1]}" for each in found if each]
    fits = "|".join(dict.fromkeys(tests))
    return Additions(("--filter", fits)) if len(tests) == len(names) else None


DOTNET = TestRunner(
    "dotnet test",
    _select,
    (("dotnet", "test"),),
    ReportKind(
        read_trx,
        "*.trx",
        Additions(("--logger", "trx", "--results-directory", REPORTS)),
        not_with=("--results-directory", "-r", "--report-trx"),
    ),
)
