"""pytest, told by a variable, so that it hears through whatever calls it, and unittest.

https://docs.pytest.org/en/stable/reference/customize.html. unittest says all that it has to say in
its output for people, and takes no single tests but as arguments of a call of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial

from agents.analysis.test_runners.junit import JUnitCase, name_plainly, read_junit
from agents.analysis.test_runners.runner import REPORTS, Additions, ReportKind, TestRunner

_FILE = "pytest.xml"
_OPTIONS = "PYTEST_ADDOPTS"


def _name_case(case: JUnitCase) -> str:
    """Return the test's node id, by the file that the older of pytest's two families names."""
    file, inside = case.about.get("file", ""), case.about.get("classname", "")
    if not file:
        return name_plainly(case)
    if case.stands_for_file:
        return file
    module = file.removesuffix(".py").replace("/", ".")
    classes = inside.removeprefix(module).strip(".").split(".") if inside != module else []
    return "::".join((file, *filter(None, classes), case.about.get("name", "")))


def _select(names: Sequence[str]) -> Additions | None:
    if not all("::" in name for name in names):
        return None
    return Additions(variables={_OPTIONS: shlex.join(names)})


def _select_none(_names: Sequence[str]) -> None:
    return None


PYTEST = TestRunner(
    "pytest",
    _select,
    report=ReportKind(
        partial(read_junit, name_case=_name_case),
        _FILE,
        Additions(variables={_OPTIONS: f"-o junit_family=xunit1 --junitxml='{REPORTS}/{_FILE}'"}),
        through_others=True,
    ),
)
UNITTEST = TestRunner(
    "unittest",
    _select_none,
    (
        ("python", "-m", "unittest"),
        ("python3", "-m", "unittest"),
        ("coverage", "run", "-m", "unittest"),
    ),
    verbose=Additions(("-v",)),
)
"""Of `-q` and `-v`, the last one counts."""
