"""go test: read the events of `go test -json`, and make the usual output of them for people.

https://pkg.go.dev/cmd/test2json
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.named_tests import pack_names
from agents.analysis.check_failures.reported import ALL_OF_IT, ReportedFailures
from agents.analysis.test_runners.runner import Additions, ReportKind, TestRunner

_FILE = "go-test.json"
_NAME = re.compile(r"\S+ ([^\s/]+)(?:/.*)?$")
_NOISE = re.compile(r"=== (?:RUN|PAUSE|CONT|NAME)\b|PASS$")
_NOT_BUILT = re.compile(r"FAIL\t(\S+) \[(?:build|setup) failed\]$")
"""Before Go 1.24, no event says so."""


@dataclass
class _Package:
    """What the events say of one package."""

    failed: dict[str, int] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    ended: str = ""
    """The last word of the package as a whole: pass, fail or skip."""


def read_events(texts: Sequence[str]) -> ReportedFailures | None:
    """Return what the events of `go test -json` say; None without any."""
    packages = dict[str, _Package]()
    lines = [line for text in texts for line in text.splitlines()]
    for event in filter(None, map(_read_event, lines)):
        name, action = event.get("Package"), event.get("Action")
        if not isinstance(name, str) or not name:
            continue
        package = packages.setdefault(name, _Package())
        if action not in ("pass", "fail", "skip"):
            continue
        if test := event.get("Test"):
            named = normalize_name(f"{name} {test}")
            package.ran += [named] if action != "skip" else []
            if action == "fail":
                package.failed[named] = 1
        else:
            package.ended = action
    if not packages:
        return None
    lost = (found[1] for line in lines if (found := _NOT_BUILT.match(line)))
    names = {f"{normalize_name(name)}{ALL_OF_IT}": 1 for name in lost}
    for name, package in packages.items():
        names |= package.failed
        if package.ended == "fail" and not package.failed:
            names[f"{normalize_name(name)}{ALL_OF_IT}"] = 1
    ran = [test for package in packages.values() for test in package.ran]
    return ReportedFailures(
        names=names,
        whole=all(each.ended for each in packages.values()),
        ended=True,
        ran=len(ran),
        tests=pack_names(ran),
    )


def render_events(text: str) -> str:
    """Return what `go test` writes for people: of the tests that pass, nothing."""
    held, lines = dict[tuple[str, str], list[str]](), list[str]()
    for line in text.splitlines():
        event = _read_event(line)
        if event is None:
            lines.append(line)
            continue
        package, test = str(event.get("Package", "")), str(event.get("Test", ""))
        action, output = event.get("Action"), event.get("Output")
        if action in ("output", "build-output") and isinstance(output, str):
            if not _NOISE.match(output):
                held.setdefault((package, test), []).append(output.removesuffix("\n"))
        elif action == "fail" and test:
            lines += held.pop((package, test), [])
        elif action in ("pass", "skip") and test:
            held.pop((package, test), None)
        elif action in ("pass", "fail", "skip", "build-fail"):
            lines += held.pop((package or str(event.get("ImportPath", "")), ""), [])
    lines += [line for rest in held.values() for line in rest]  # it was stopped on its way
    return "\n".join(lines)


def _read_event(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("Action"), str) else None


def _select(names: Sequence[str]) -> Additions | None:
    found = [_NAME.match(name) for name in names]
    tests = [re.escape(each[1]) for each in found if each]
    if len(tests) != len(names):
        return None
    return Additions(variables={"GOFLAGS": f"-run=^({'|'.join(dict.fromkeys(tests))})$"})


GO = TestRunner(
    "go test",
    _select,
    (("go", "test"),),
    ReportKind(
        read_events,
        _FILE,
        Additions(("-json",)),
        takes_output=True,
        render=render_events,
    ),
    afresh=Additions(variables={"GOFLAGS": "-count=1"}),
)
"""Flags for it reach it through others by a variable:
https://pkg.go.dev/cmd/go#hdr-Environment_variables"""
