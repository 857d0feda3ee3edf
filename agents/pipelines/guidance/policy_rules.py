"""Rules for the policy that follow from what people denied, again and again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from agents.policy import Policy, Rule
from agents.ports import DeniedCall, GuidanceEvidence
from agents.requests import Frozen

OFTEN = 3
"""Denials of the same, without which no rule is proposed."""
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./-]{0,200}")
_PLAIN_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,200}[a-z0-9])?")
_REASON = "Denied each time it was asked for."


class BackedRule(Frozen):
    """What the policy could say from now on, with the denials behind it."""

    denied: DeniedCall
    evidence: tuple[GuidanceEvidence, ...]

    @property
    def rule(self) -> Rule | None:
        """Return the rule under `deny`; None for dependencies, which have a key of their own."""
        if self.denied.field == "dependencies":
            return None
        return Rule.model_validate({self.denied.field: self.denied.value, "reason": _REASON})

    @property
    def line(self) -> str:
        """Return the rule as the policy says it, plain text."""
        if self.denied.field == "dependencies":
            return "approvals.dependencies: refuse"
        return f"deny: {self.denied.field} {self.denied.value}"


def list_rules(
    evidence: Sequence[GuidanceEvidence], policy: Policy, declined: Sequence[str]
) -> tuple[BackedRule, ...]:
    """Return the rules that nobody would be asked about again with, the oldest first."""
    alike = defaultdict[DeniedCall, list[GuidanceEvidence]](list)
    for each in evidence:
        if each.denied is not None and _is_plain(each.denied):
            alike[each.denied].append(each)
    rules = [
        BackedRule(denied=denied, evidence=tuple(found))
        for denied, found in alike.items()
        if len(found) >= OFTEN and len({each.number for each in found}) > 1
    ]
    return tuple(r for r in rules if r.line not in declined and not _is_said(policy, r))


def _is_said(policy: Policy, proposed: BackedRule) -> bool:
    """Return whether the policy says so already."""
    if proposed.denied.field == "dependencies":
        return policy.approvals.dependencies == "refuse"
    value = proposed.denied.value
    return any(getattr(rule, proposed.denied.field) == value for rule in policy.deny)


def _is_plain(denied: DeniedCall) -> bool:
    """Return whether a pattern can name it to the letter, and nothing besides."""
    match denied.field:
        case "path":
            return _PLAIN_PATH.fullmatch(denied.value) is not None
        case "host":
            return _PLAIN_HOST.fullmatch(denied.value) is not None
    return True
