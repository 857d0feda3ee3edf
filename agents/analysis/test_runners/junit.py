"""Read JUnit XML, the report that pytest, Surefire, Gradle, CTest and others write for programs.

No standard says what stands in it; https://github.com/testmoapp/junitxml collects what is usual.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.named_tests import pack_names
from agents.analysis.check_failures.reported import ALL_OF_IT, ReportedFailures
from agents.analysis.test_runners.xml_walk import UnreadableReport, walk_xml

_BAD, _RISKY = ("failure", "error"), "RiskyTestError"
_NOT_RUN = re.compile(
    r"(?:collection|initialization) ?(?:failure|error)|initializationError", re.IGNORECASE
)


@dataclass
class JUnitCase:
    """One `testcase`, with what stands below it."""

    about: Mapping[str, str]
    below: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The elements in it, each with its attributes."""

    @property
    def failed(self) -> bool:
        """Return whether it failed; what is to be done yet is called skipped, too."""
        return self._has_no_program or (
            "skipped" not in self.below and any(map(self._is_bad, _BAD))
        )

    @property
    def ran(self) -> bool:
        """Return whether it was run, and is no whole file."""
        left_out = "skipped" in self.below or self.about.get("status") == "disabled"
        return not left_out and not self.stands_for_file

    @property
    def stands_for_file(self) -> bool:
        """Return whether it stands for a whole file or class that could not be read."""
        if "error" not in self.below:
            return False
        return bool(
            _NOT_RUN.search(
                f"{self.about.get('name', '')} {self.below['error'].get('message', '')}"
            )
        )

    @property
    def _has_no_program(self) -> bool:
        """Return whether CTest fails for it, and calls it skipped: its program was not built."""
        skipped = self.below.get("skipped") if self.about.get("status") == "notrun" else None
        return skipped is not None and not skipped.get("message", "").startswith("SKIP_")

    def _is_bad(self, tag: str) -> bool:
        """Return whether it failed by that; PHPUnit calls tests so, too, that assert nothing."""
        return tag in self.below and not self.below[tag].get("type", "").endswith(_RISKY)


NameCase = Callable[[JUnitCase], str]


def name_plainly(case: JUnitCase) -> str:
    """Return the name of the class and that of the test."""
    return f"{case.about.get('classname', '')} {case.about.get('name', '')}"


def read_junit(
    texts: Sequence[str], *, name_case: NameCase = name_plainly
) -> ReportedFailures | None:
    """Return what failed by name; None without a file.

    It is whole only if each file can be read, and none declares types or entities of its own:
    whoever wrote the tests can write into it what they like.
    """
    if not texts:
        return None
    names, ran, whole = dict[str, int](), list[str](), True
    for text in texts:
        try:
            for case in _list_cases(text):
                name = normalize_name(name_case(case))
                ran += [name] if case.ran else []
                if case.failed:
                    names[name + (ALL_OF_IT if case.stands_for_file else "")] = 1
        except UnreadableReport:
            whole = False
    tests = pack_names(ran)
    return ReportedFailures(names=names, whole=whole, ended=True, ran=len(ran), tests=tests)


def _list_cases(text: str) -> list[JUnitCase]:
    cases = list[JUnitCase]()
    inside = False

    def begin(tag: str, about: Mapping[str, str]) -> None:
        nonlocal inside
        if tag == "testcase":
            cases.append(JUnitCase(about))
            inside = True
        elif inside:
            cases[-1].below.setdefault(tag, about)

    def end(tag: str) -> None:
        nonlocal inside
        inside = inside and tag != "testcase"

    walk_xml(text, begin, end)
    return cases
