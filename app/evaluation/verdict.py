"""The verdict on a case: each test's result, which had to turn green, and which is green no more.

Results are read from JUnit files, which test programs of most languages can write; none is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from xml.etree import ElementTree as ET

from app.evaluation.case import JudgeSettings

SHOWN = 5
JUnitResult = Literal["passed", "failed", "skipped"]

_WORST: tuple[JUnitResult, ...] = ("failed", "skipped", "passed")
_DOCTYPE = ("<!DOCTYPE", "<!ENTITY")


class Unreadable(ValueError):
    """The file is no JUnit file."""


def read_junit(data: bytes) -> dict[str, JUnitResult]:
    """Return each test's result by `class::name`; of several with one name the worst counts."""
    try:
        text = data.decode("utf-8-sig")  # whatever it says of itself
        if any(word in text for word in _DOCTYPE):
            raise Unreadable("it declares entities, which a JUnit file never does")
        root = ET.fromstring(text)  # noqa: S314 # without entities nothing can grow
    except (ET.ParseError, UnicodeDecodeError) as error:
        raise Unreadable(str(error)) from error
    found: dict[str, JUnitResult] = {}
    for test in root.iter("testcase"):
        name = "::".join(filter(None, (test.get("classname"), test.get("name"))))
        found[name] = min(found.get(name, "passed"), _result(test), key=_WORST.index)
    return found


def _result(test: ET.Element) -> JUnitResult:
    kinds = {child.tag for child in test}
    if kinds & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"


@dataclass(frozen=True)
class JudgeRun:
    """What one run of the judge's command found."""

    results: Mapping[str, JUnitResult]
    exit_code: int
    output: str
    """The end of what the command printed."""
    trouble: str = ""
    """Why there are no results, if there are none."""

    def list_passed(self) -> set[str]:
        """Return the tests that passed."""
        return {name for name, result in self.results.items() if result == "passed"}

    def get_result(self, name: str) -> str:
        """Return a test's result in a word."""
        return self.results.get(name, "absent")


@dataclass(frozen=True)
class TestOutcomes:
    """The same code under the repository's own tests, and under the hidden ones."""

    own: JudgeRun
    hidden: JudgeRun


@dataclass(frozen=True)
class EvaluationVerdict:
    """Whether a change does what the tests ask for."""

    turned: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The tests that must pass: result before and after."""
    lost: Sequence[str] = ()
    """Tests that passed before and do not any more."""
    reasons: Sequence[str] = ()
    """Why it is not solved."""

    @property
    def solved(self) -> bool:
        """Return whether it does."""
        return not self.reasons


def find_unsound(
    judge: JudgeSettings, before: TestOutcomes, cured: TestOutcomes | None
) -> list[str]:
    """Return why a case cannot judge anybody here: red is not red, or the cure does not help."""
    problems = []
    if before.own.trouble and judge.own:
        problems.append(f"the repository's own tests gave no result: {before.own.trouble}")
    if before.hidden.trouble and cured is None:
        problems.append(f"the hidden tests gave no result: {before.hidden.trouble}")
    passing = before.hidden.list_passed()
    problems += [
        f"`{pattern}` passes before anything was changed"
        for pattern in judge.must_pass
        if any(_matches(pattern, name) for name in passing)
    ]
    if cured is not None:
        problems += [f"with the cure, {why}" for why in compare(judge, before, cured).reasons]
    return problems


def compare(judge: JudgeSettings, before: TestOutcomes, after: TestOutcomes) -> EvaluationVerdict:
    """Return the verdict on the code after a run."""
    reasons = []
    trouble = after.hidden.trouble or ("" if before.own.trouble else after.own.trouble)
    if trouble:
        reasons.append(f"the tests gave no result: {trouble}")
    turned: dict[str, tuple[str, str]] = {}
    for pattern in judge.must_pass:
        names = [name for name in after.hidden.results if _matches(pattern, name)] or [pattern]
        turned |= {
            name: (before.hidden.get_result(name), after.hidden.get_result(name)) for name in names
        }
    red = [name for name, (_, now) in turned.items() if now != "passed"]
    if red:
        reasons.append(f"hidden tests fail: {_format_some(red)}")
    lost = sorted(
        {*_list_lost(judge, before.own, after.own), *_list_lost(judge, before.hidden, after.hidden)}
    )
    if lost := [name for name in lost if name not in red]:
        reasons.append(f"passed before and does not now: {_format_some(lost)}")
    return EvaluationVerdict(turned, lost, reasons)


def _list_lost(judge: JudgeSettings, before: JudgeRun, after: JudgeRun) -> Iterator[str]:
    now = after.list_passed()
    for name in before.list_passed() - now:
        if not any(_matches(pattern, name) for pattern in judge.may_fail):
            yield name


def _matches(pattern: str, name: str) -> bool:
    return bool(re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL))


def _format_some(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:SHOWN])
    more = len(names) - SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
