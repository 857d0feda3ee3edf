"""What the stages of a run delivered, as its records tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.ports import Json
from agents.run.state import RunState
from app.store.runs.history import KeptStep

_STAGE = "stage/"


@dataclass(frozen=True)
class DeliveredStage:
    """One occurrence of a stage; where it was repeated, its last execution."""

    occurrence: str
    """Like `implement/2`."""
    output: Json
    standing: Json
    """Where the run stood after it."""

    @property
    def name(self) -> str:
        """Return the stage's name, like `implement`."""
        return self.occurrence.partition("/")[0]


def list_stages(steps: Sequence[KeptStep]) -> list[DeliveredStage]:
    """Return the stages in the order in which each last delivered something readable."""
    found: dict[str, DeliveredStage] = {}
    for step in steps:
        record = step.record
        if step.name.startswith(_STAGE) and isinstance(record, Mapping) and "output" in record:
            occurrence = step.name.removeprefix(_STAGE).partition("~")[0]
            found.pop(occurrence, None)  # so that the newest comes last
            found[occurrence] = DeliveredStage(occurrence, record["output"], record.get("standing"))
    return list(found.values())


def find_standing(stages: Sequence[DeliveredStage]) -> RunState:
    """Return where the last stage left the run."""
    for stage in reversed(stages):
        if isinstance(stage.standing, Mapping):
            return RunState.model_validate(stage.standing)
    return RunState()
