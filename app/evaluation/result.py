"""What an evaluation came to, as plain values: rows of a table, and one JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from agents.ports import Usage

CaseState = Literal["solved", "not solved", "broken"]


@dataclass(frozen=True)
class CaseResult:
    """One attempt at one case."""

    case: str
    attempt: int
    """From 1."""
    state: CaseState
    """`broken`: the case could not be tried or judged here, which says nothing about the run."""
    why: Sequence[str] = ()
    """Why it is not solved, or broken."""
    outcome: str | None = None
    """How the run ended: pull_request, comment, refused or failed."""
    text: str | None = None
    branch: str | None = None
    draft: bool | None = None
    stages: Sequence[str] = ()
    failed_stage: str | None = None
    failing_checks: Sequence[str] = ()
    denied: int = 0
    """Calls that wanted a person's yes; in an evaluation nobody is there."""
    tests: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The hidden tests that must pass: result before and after."""
    lost: Sequence[str] = ()
    """Tests that passed before and do not any more."""
    usd: float = 0.0
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    kept: str | None = None
    """The folder with the repository and the log of this attempt."""

    @property
    def cache_read_share(self) -> float | None:
        """Return how much of what the model read came from its cache."""
        return self.usage.cache_read_share

    def record(self) -> dict[str, Any]:
        """Return the case's result for JSON."""
        record = asdict(self)
        del record["usage"]
        record["usd"], record["seconds"] = round(self.usd, 4), round(self.seconds, 1)
        return {**record, **_tokens(self.usage)}


@dataclass(frozen=True)
class Evaluation:
    """All attempts at all cases."""

    model: str
    """Who answered."""
    results: Sequence[CaseResult]

    @property
    def exit_code(self) -> int:
        """Return 0 when all are solved, 1 when some are not, 2 when a case is broken."""
        states = {result.state for result in self.results}
        return 2 if "broken" in states else int("not solved" in states)

    @property
    def solved(self) -> int:
        """Return how many are solved."""
        return sum(result.state == "solved" for result in self.results)

    @property
    def usage(self) -> Usage:
        """Return all tokens."""
        return sum((result.usage for result in self.results), Usage())

    def total(self) -> dict[str, Any]:
        """Return the sums."""
        return {
            "attempts": len(self.results),
            "solved": self.solved,
            "broken": sum(result.state == "broken" for result in self.results),
            "drafts": sum(bool(result.draft) for result in self.results),
            "usd": round(sum(result.usd for result in self.results), 4),
            "turns": sum(result.turns for result in self.results),
            "seconds": round(sum(result.seconds for result in self.results), 1),
            **_tokens(self.usage),
        }

    def json(self) -> str:
        """Return the evaluation as one JSON object."""
        about = {
            "model": self.model,
            "results": [result.record() for result in self.results],
            "total": self.total(),
        }
        return json.dumps(about, indent=2, ensure_ascii=False)


def _tokens(usage: Usage) -> dict[str, Any]:
    part = usage.cache_read_share
    return {
        "tokens": usage.model_dump(),
        "cache_read_share": None if part is None else round(part, 4),
    }
