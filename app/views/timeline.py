"""The timeline of a run: every stage occurrence, put together from its turns and its steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.ports import Usage
from app.store.runs import KeptRun, KeptStep, KeptTurn

UNDER_WAY = ("queued", "running", "parked")


@dataclass
class Occurrence:
    """One stage occurrence, like `implement/2`."""

    name: str
    turns: list[KeptTurn] = field(default_factory=list)
    steps: list[KeptStep] = field(default_factory=list)
    """How often the engine has seen it end: more than once when it waited for people."""
    noted_at: float = 0.0
    """When it was last heard of, for one that has left nothing yet."""

    @property
    def started_at(self) -> float:
        """Return when it began, as far as anything tells."""
        times = [s.started_at for s in self.steps] + [t.at - t.seconds for t in self.turns]
        return min(times, default=self.noted_at)

    @property
    def seconds(self) -> float:
        """Return how long it was at work; waiting for people is left out where steps tell it."""
        done = sum(step.ended_at - step.started_at for step in self.steps)
        until = max((step.ended_at for step in self.steps), default=0.0)
        later = [turn for turn in self.turns if turn.at > until]
        if not later:
            return done
        return done + later[-1].at - (later[0].at - later[0].seconds)

    def describe(self, run: KeptRun) -> dict[str, Any]:
        """Return the stage for people and for JSON."""
        answers = [turn for turn in self.turns if turn.kind == "answer"]
        usage = sum((turn.usage for turn in answers), Usage())
        part, last = usage.cache_read_share, self._last
        return {
            "stage": self.name,
            "state": self._state(run),
            "started_at": self.started_at,
            "seconds": round(self.seconds, 3),
            "answers": len(answers),
            "usd": round(sum(turn.usd for turn in answers), 6),
            "tokens": usage.model_dump(),
            "cache_read_share": None if part is None else round(part, 4),
            "summary": str(last.get("summary") or ""),
            "error": str(last.get("error") or ""),
        }

    @property
    def _last(self) -> dict[str, Any]:
        record = self.steps[-1].record if self.steps else None
        return record if isinstance(record, dict) else {}

    def _state(self, run: KeptRun) -> str:
        if run.state in UNDER_WAY and stage_of(run.stage) == self.name:
            return run.state
        if self._last.get("error"):
            return "failed"
        if self.steps:
            return "waited" if self._last.get("parked") else "done"
        return "said"  # only its turns are left: whether it came to its end, nobody knows


def order_stages(
    run: KeptRun, turns: Iterable[KeptTurn], steps: Iterable[KeptStep]
) -> list[Occurrence]:
    """Return the stage occurrences in the order in which they began."""
    found: dict[str, Occurrence] = {}
    for step in steps:
        if (name := stage_of(step.name)) is not None:
            found.setdefault(name, Occurrence(name)).steps.append(step)
    for turn in turns:
        found.setdefault(turn.stage, Occurrence(turn.stage)).turns.append(turn)
    if run.state in UNDER_WAY and (now := stage_of(run.stage)) is not None:
        found.setdefault(now, Occurrence(now, noted_at=run.updated_at))
    return sorted(found.values(), key=lambda each: each.started_at)


def base_of(steps: Sequence[KeptStep]) -> str | None:
    """Return the commit with which the run's own work began, if a step still tells it."""
    records = (step.record for step in steps if isinstance(step.record, dict))
    standings = (record.get("standing") for record in records)
    starts = (each.get("start") for each in standings if isinstance(each, dict))
    return next((str(start) for start in starts if start), None)


def has_heard_outsiders(steps: Sequence[KeptStep]) -> bool:
    """Return whether the run has read what people without access wrote, by what a step noted."""
    records = (step.record for step in steps if isinstance(step.record, dict))
    told = (record.get("standing") or record for record in records)
    return any(each.get("tainted") is True for each in told if isinstance(each, dict))


def stage_of(step: str) -> str | None:
    """Return the occurrence that a step performs; waiting for people and the like is none."""
    kind, _, name = step.partition("/")
    if kind == "stage":
        return name.partition("~")[0]
    return step if kind in ("access", "finish") else None
