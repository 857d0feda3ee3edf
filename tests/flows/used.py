"""Which permissions the flows' calls really took, of all processes, held against the manifest.

Tokens can be made with what nothing needs, and the manifest ask owners for it: only what a call was
let through with counts here. A part of the tests proves nothing, so only a whole run is judged.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from app.github.transport import OPTIONAL

PROPERTY = "permissions"
MANIFEST = Path(__file__).parents[2] / "app.yml"
LEVELS = ["read", "write"]


def tell(node, used):
    """Have the test's report say with which permissions its calls were let through."""
    node.user_properties.append((PROPERTY, sorted(map(list, used))))


class Used:
    """A plugin for the process that prints: reports reach it from all that run tests."""

    def __init__(self):
        self._used = set()
        self._ran = set()
        self._fault = ""

    def pytest_runtest_logreport(self, report):
        """Gather what a flow told, and which of them ran."""
        if report.when == "teardown" and "tests/flows/" in report.nodeid:
            self._ran.add(report.nodeid.partition("::")[0])
            told = [value for name, value in report.user_properties if name == PROPERTY]
            self._used |= {tuple(pair) for pairs in told for pair in pairs}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        """Fail a run of all flows in which the manifest asks for more or less than was used."""
        here = Path(__file__).parent
        every = {
            f"tests/flows/{path.relative_to(here).as_posix()}" for path in here.rglob("test_*.py")
        }
        if exitstatus != 0 or not every <= self._ran:
            return
        self._fault = fault(self._used, yaml.safe_load(MANIFEST.read_text()))
        if self._fault:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        """Say what is wrong."""
        if self._fault:
            terminalreporter.section("permissions", red=True)
            terminalreporter.write_line(self._fault)


def fault(used, manifest):
    """Return what the manifest asks for and nothing used, or the other way round; else empty."""
    most = {}
    for name, level in used:
        most[name] = max(most.get(name, "read"), level, key=LEVELS.index)
    asked = manifest["default_permissions"]
    most = {name: level for name, level in most.items() if OPTIONAL.get(name) != level}
    wrong = {name for name in {*most, *asked} if most.get(name) != asked.get(name)}
    return "\n".join(
        f"{name}: app.yml asks for {asked.get(name)}, the flows' calls took {most.get(name)}"
        for name in sorted(wrong)
    )
