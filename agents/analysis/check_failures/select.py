"""Select single tests for the next run of a check, by variables that its test runner reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.reported import ALL_OF_IT, FailuresByProgram

MOST = 40  # tests: more than these are quicker run with all others

_SHORTENED = "…"  # stands in names for what differs from run to run
_GO_NAME = re.compile(r"(\S+) ([^\s/]+)(?:/.*)?$")


def select_tests(failures: FailuresByProgram, names: Sequence[str]) -> Mapping[str, str] | None:
    """Return variables with which the check runs just these tests; None where nothing does that.

    pytest takes them from PYTEST_ADDOPTS
    (https://docs.pytest.org/en/stable/reference/customize.html), go from GOFLAGS
    (https://pkg.go.dev/cmd/go#hdr-Environment_variables).
    """
    if not names or len(names) > MOST:
        return None
    if pytest := failures.told.get("pytest"):
        known = {form: each for each in pytest.names for form in (each, _form_in_report(each))}
        tests = [known.get(name, "") for name in names]
        if all("::" in test and _SHORTENED not in test for test in tests):
            return {"PYTEST_ADDOPTS": shlex.join(tests)}
    if (go := failures.told.get("go test")) and set(names) <= go.names.keys():
        found = [_GO_NAME.match(name) for name in names if not name.endswith(ALL_OF_IT)]
        tests = [re.escape(each[2]) for each in found if each]
        if len(tests) == len(names):
            return {"GOFLAGS": f"-count=1 -run=^({'|'.join(dict.fromkeys(tests))})$"}
    return None


def _form_in_report(test: str) -> str:
    """Return how pytest names a test in JUnit XML: `tests.test_a.TestIt test_b` by its node id."""
    path, *inside = test.split("::")
    dotted = ".".join((path.removesuffix(".py").replace("/", "."), *inside[:-1]))
    return normalize_name(f"{dotted} {inside[-1]}") if inside else test
