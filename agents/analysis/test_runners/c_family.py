"""CTest and Meson: JUnit XML, which Meson writes in any case, and tests by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from agents.analysis.test_runners.junit import JUnitCase, read_junit
from agents.analysis.test_runners.runner import REPORTS, Additions, ReportKind, TestRunner

_FILE = "ctest.xml"
_SIGNS = re.compile(r"([][.*+?()|^$\\])")
"""What has a meaning in CMake's expressions:
https://cmake.org/cmake/help/latest/command/string.html#regex-specification"""


def _name_case(case: JUnitCase) -> str:
    return case.about.get("name", "")


_read = partial(read_junit, name_case=_name_case)


def _select_ctest(names: Sequence[str]) -> Additions:
    fits = (_SIGNS.sub(r"\\\1", name) for name in names)
    return Additions(("-R", f"^({'|'.join(fits)})$"))


def _select_meson(names: Sequence[str]) -> Additions | None:
    """Select by what stands behind the project and its suites."""
    tests = [name.partition(" / ")[2] or name for name in names]
    return None if any(each.startswith("-") for each in tests) else Additions(tuple(tests))


CTEST = TestRunner(
    "CTest",
    _select_ctest,
    (("ctest",),),
    ReportKind(
        _read,
        _FILE,
        Additions(("--output-junit", f"{REPORTS}/{_FILE}")),
        not_with=("--output-junit",),
        supported="ctest --help | grep -q output-junit",
    ),
)
MESON = TestRunner(
    "Meson", _select_meson, (("meson", "test"),), ReportKind(_read, left=("testlog.junit.xml",))
)
