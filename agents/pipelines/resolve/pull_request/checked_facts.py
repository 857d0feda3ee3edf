"""What the records of a run show, so that a checkbox of a template may be ticked."""

from __future__ import annotations

import re

from agents.pipelines.resolve.work import MeasuredChange
from agents.text import CheckedFact

REGRESSION_TEST, OWN_TESTS, KIND = "regression test", "tests of the change", "kind of change"
_WORD = re.compile(r"[^\W\d_]{3,}")
_KINDS = {
    "bug": ("bug", "fix"),
    "feature": ("feature", "enhancement"),
    "refactor": ("refactor", "refactoring"),
    "docs": ("docs", "documentation"),
}


def list_facts(kind: str, checked: MeasuredChange) -> tuple[CheckedFact, ...]:
    """Return what was recorded of a change that may tick a checkbox."""
    passed = {
        after.name: f"exit code {after.exit_code} on {checked.quality.commit[:10]}"
        for _, after in checked.quality.compared
        if not after.exit_code and after.verdict != "unknown"
    }
    facts = [_fact(name, said, name) for name, said in passed.items()]
    proof = checked.proof
    if proof.shown:
        facts.append(_fact(REGRESSION_TEST, "fails without the change, passes with it"))
    if proof.head is not None and not proof.head.exit_code:
        facts.append(_fact(OWN_TESTS, f"exit code 0 on {proof.commit[:10]}", "tests"))
    if kind in _KINDS:
        facts.append(_fact(KIND, f"triage read it as {kind}", *_KINDS[kind]))
    return tuple(facts)


def _fact(name: str, said: str, *about: str) -> CheckedFact:
    words = [word.lower() for text in about or (name,) for word in _WORD.findall(text)]
    return CheckedFact(name, said, frozenset(word[:4] for word in words))
