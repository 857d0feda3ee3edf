"""What the gate said to the calls of a run: each in words, and how often each rule was used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from agents.ports import Ruling
from app.store.runs import KeptTurn

NO_RULE = "default"


@dataclass(frozen=True)
class RuleUse:
    """How often one rule decided in a run."""

    decision: str
    """`allow`, `deny` or `ask`."""
    rule: str
    words: str
    calls: int
    stages: tuple[str, ...]
    """Where, in the order of the run."""


def describe_ruling(ruling: Ruling) -> str:
    """Return what was decided on a call, as words that follow it."""
    if ruling.decision == "ask":
        asked = f"left to people by the rule {ruling.rule}"
        return asked if ruling.approval else f"{asked}, and nobody could be asked"
    if ruling.rule == NO_RULE and ruling.decision == "allow":
        return "allowed: no rule objects"
    return f"{'allowed' if ruling.decision == 'allow' else 'refused'} by the rule {ruling.rule}"


def sum_rulings(turns: Iterable[KeptTurn]) -> list[RuleUse]:
    """Return how often each rule decided: what people decided first, what no rule named last."""
    counted: Counter[tuple[str, str]] = Counter()
    stages: dict[tuple[str, str], dict[str, None]] = {}
    words: dict[tuple[str, str], str] = {}
    for turn in turns:
        for ruling in (turn.rulings or {}).values():
            kind = (ruling.decision, ruling.rule)
            counted[kind] += 1
            stages.setdefault(kind, {})[turn.stage] = None
            words.setdefault(kind, describe_ruling(ruling))
    order = ("ask", "deny", "allow")
    kinds = sorted(counted, key=lambda kind: (kind[1] == NO_RULE, order.index(kind[0]), kind[1]))
    return [RuleUse(*kind, words[kind], counted[kind], tuple(stages[kind])) for kind in kinds]
