"""Maven and Gradle: both leave JUnit XML for each class in their build's folders."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.analysis.test_runners.junit import read_junit
from agents.analysis.test_runners.runner import Additions, ReportKind, TestRunner

_LEFT = ("TEST-*.xml",)
_CASE = re.compile(r"([\w.$]+)(?: > |[ .])(\w+)(?:[({\[ ].*)?$")
"""A class and a method, as reports and the output for people write them, and what varies in it."""


def _list_methods(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return class and method of each test; nothing where one of them cannot be told."""
    found = [_CASE.match(name) for name in names]
    pairs = [(each[1].rpartition(".")[2], each[2]) for each in found if each]
    return list(dict.fromkeys(pairs)) if len(pairs) == len(names) else []


def _select_maven(names: Sequence[str]) -> Additions | None:
    methods = _list_methods(names)
    tests = ",".join(f"{of}#{method}" for of, method in methods)
    none = ("-DfailIfNoTests=false", "-Dsurefire.failIfNoSpecifiedTests=false")
    return Additions((f"-Dtest={tests}", *none)) if methods else None


def _select_gradle(names: Sequence[str]) -> Additions | None:
    methods = _list_methods(names)
    chosen = [word for of, method in methods for word in ("--tests", f"*{of}.{method}*")]
    return Additions(tuple(chosen)) if methods else None


MAVEN = TestRunner(
    "Maven",
    _select_maven,
    (("mvn",), ("mvnw",)),
    ReportKind(read_junit, left=_LEFT),
)
GRADLE = TestRunner(
    "Gradle",
    _select_gradle,
    (("gradle", "test"), ("gradlew", "test")),
    ReportKind(read_junit, left=_LEFT),
    afresh=Additions(("--rerun-tasks",)),
)
"""A task that succeeded is up to date, and is not run again."""
