"""Fix vulnerable dependencies without a model: levels of change, a package per package manager."""

from __future__ import annotations

from agents.pipelines.remediate.ladder.climb import climb, to_refusal
from agents.pipelines.remediate.ladder.climb_context import ClimbContext
from agents.pipelines.remediate.ladder.ecosystem import Ecosystem
from agents.pipelines.remediate.ladder.finders import FINDERS, Find, ecosystem_of
from agents.pipelines.remediate.ladder.locked import Copy, Entry, Locked, Own
from agents.pipelines.remediate.ladder.prove import Proof, judge
from agents.pipelines.remediate.ladder.ranges import NPM, PYPI, Ranges, Scheme
from agents.pipelines.remediate.ladder.retire import do_without, targets_of
from agents.pipelines.remediate.ladder.survey import survey
from agents.pipelines.remediate.ladder.values import (
    Accepted,
    Fix,
    Group,
    Level,
    Move,
    Refusal,
    Step,
    Stuck,
    Target,
    Terms,
    Unfit,
)
from agents.ports import Advisory

__all__ = [
    "FINDERS",
    "NPM",
    "PYPI",
    "Accepted",
    "Advisory",
    "ClimbContext",
    "Copy",
    "Ecosystem",
    "Entry",
    "Find",
    "Fix",
    "Group",
    "Level",
    "Locked",
    "Move",
    "Own",
    "Proof",
    "Ranges",
    "Refusal",
    "Scheme",
    "Step",
    "Stuck",
    "Target",
    "Terms",
    "Unfit",
    "climb",
    "do_without",
    "ecosystem_of",
    "judge",
    "survey",
    "targets_of",
    "to_refusal",
]
