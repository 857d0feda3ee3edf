"""PHPUnit: JUnit XML beside its output, and tests by an expression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from agents.analysis.test_runners.junit import JUnitCase, read_junit
from agents.analysis.test_runners.runner import REPORTS, Additions, ReportKind, TestRunner

_FILE = "phpunit.xml"
_CASE = re.compile(r"([\w\\]+)::(\w+)")


def _name_case(case: JUnitCase) -> str:
    return f"{case.about.get('class', '')}::{case.about.get('name', '')}"


def _select(names: Sequence[str]) -> Additions | None:
    """Select the methods: of those with sets of data, all."""
    found = [_CASE.match(name) for name in names]
    tests = [f"{re.escape(each[1])}::{each[2]}" for each in found if each]
    if len(tests) != len(names):
        return None
    return Additions(
        ("--filter", f"/^(?:{'|'.join(dict.fromkeys(tests))})(?: with data set .*)?$/")
    )


PHPUNIT = TestRunner(
    "PHPUnit",
    _select,
    (("phpunit",),),
    ReportKind(
        partial(read_junit, name_case=_name_case),
        _FILE,
        Additions(("--log-junit", f"{REPORTS}/{_FILE}")),
        not_with=("--log-junit",),
    ),
)
