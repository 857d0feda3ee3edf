"""Follow a run from outside: what its process stored becomes calls of a `Reporter`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from agents.pipelines.registry import PIPELINES
from agents.ports import Block, Json, Reporter, Usage
from agents.run import Stage
from agents.tools.registry import tool_named
from app.runs import retry_from_stage as again
from app.store.runs import History, KeptRun, KeptStep, KeptTurn

STAGE = "stage/"
OVER = ("done", "refused", "cancelled", "failed", "covered")


@dataclass(frozen=True)
class WaitReason:
    """What a run waits for."""

    what: Literal["approval", "answer", "pause"]
    """A decision, words on the issue, or just time."""
    approvals: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunSnapshot:
    """Where a run stands at one look."""

    run: KeptRun
    waits: WaitReason | None = None

    @property
    def has_ended(self) -> bool:
        """Return whether it has ended."""
        return self.run.state in OVER


class Follower:
    """Tells a reporter what happened since the last look."""

    def __init__(self, history: History, run_id: str, reporter: Reporter) -> None:
        self._history = history
        self._run_id = run_id
        self._reporter = reporter
        self._titles: dict[str, str] = {}
        self._stages: dict[str, bool] = {}
        """The stages that were told of, and whether their end was."""
        self._seen_turns = self._seen_run = 0.0
        self._waits: WaitReason | None = None
        self._usage, self._usd, self._answers = Usage(), 0.0, 0

    async def look(self) -> RunSnapshot | None:
        """Look once; None while there is no such run."""
        run = await self._history.run(self._run_id)
        if run is None:
            return None
        self._titles = self._titles or stage_titles(run.kind)
        said = await self._history.turns(self._run_id, content=True, after=self._seen_turns)
        waits = self._waits
        if run.updated_at != self._seen_run:
            steps = await self._history.steps(self._run_id)
            self._report_done(steps)
            waits = waits_for(run, steps)
            self._seen_run = run.updated_at
            self._report_begun(run.stage)
        for turn in said:
            self._turn(turn)
        self._report_waiting(run, waits)
        return RunSnapshot(run, waits)

    def _report_done(self, steps: Iterable[KeptStep]) -> None:
        """Tell of what was done; it is told in the order in which it was."""
        for step in steps:
            record = step.record if isinstance(step.record, dict) else {}
            if record.get("parked") or record.get("paused_until"):
                continue
            occurrence = self._report_begun(step.name)
            if occurrence and not self._stages[occurrence]:
                self._stages[occurrence] = True
                summary = record.get("error") or record.get("summary") or ""
                self._reporter.stage_finished(occurrence, str(summary))

    def _report_begun(self, step: str) -> str | None:
        """Tell of a stage that began, by the engine's name of its step; return its occurrence."""
        occurrence = occurrence_of(step)
        if occurrence is not None and occurrence not in self._stages:
            self._stages[occurrence] = False
            self._reporter.stage_started(occurrence, self._title(occurrence))
        return occurrence

    def _turn(self, turn: KeptTurn) -> None:
        self._seen_turns = max(self._seen_turns, turn.at)
        if turn.kind != "answer" or turn.usage == Usage():  # an earlier run's, which paid for it
            return
        self._usage += turn.usage
        self._usd, self._answers = self._usd + turn.usd, self._answers + 1
        self._reporter.report_spending(self._usage, self._usd, self._answers)
        for tool, subject in list_calls(turn.content or []):
            self._reporter.tool_called(turn.stage, tool, subject)

    def _report_waiting(self, run: KeptRun, waits: WaitReason | None) -> None:
        """Tell when it begins to wait, and when it goes on."""
        stage, before, self._waits = occurrence_of(run.stage), self._waits, waits
        if stage is None or waits == before:
            return
        if waits is None:
            self._reporter.stage_started(stage, self._title(stage))
        elif waits.what == "approval":
            self._reporter.report_parked(stage, waits.approvals)
        else:
            why = "an answer on the issue" if waits.what == "answer" else "the model's server"
            self._reporter.report_pause(stage, why)

    def _title(self, occurrence: str) -> str:
        name = occurrence.rpartition("/")[0]
        return self._titles.get(name) or name.replace("_", " ").capitalize()


def waits_for(run: KeptRun, steps: Iterable[KeptStep]) -> WaitReason | None:
    """Return what the run waits for, if it waits: the last stage that stopped says so."""
    if run.state != "parked":
        return None
    records = [step.record for step in steps if step.name.startswith(STAGE)]
    last: Json = records[-1] if records else None
    record: dict[str, Any] = last if isinstance(last, dict) else {}
    if record.get("parked"):
        return WaitReason("approval", tuple(map(str, record["parked"])))
    return WaitReason("pause" if record.get("paused_until") else "answer")


def occurrence_of(step: str) -> str | None:
    """Return the stage occurrence that a step of the engine performs: `stage/implement/2~1`."""
    if step == again.STEP:
        return step
    occurrence = step.removeprefix(STAGE).partition("~")[0]
    return occurrence if step.startswith(STAGE) and "/" in occurrence else None


def stage_titles(kind: str = "") -> dict[str, str]:
    """Return the title of each stage of all pipelines, by its name.

    Of several with one name, it is that of the pipeline for this kind of request.
    """
    own = tuple(
        pipeline.function.__module__.removesuffix("pipeline")
        for request, pipeline in PIPELINES.items()
        if request.model_fields["kind"].default == kind
    )
    named = [each for each in sys.modules.items() if each[0].startswith("agents.pipelines.")]
    # The sort keeps the order of all others: what comes last counts.
    named.sort(key=lambda each: each[0].startswith(own))
    modules = [module for _, module in named]
    parts = (part for module in modules for part in vars(module).values())
    found = {part.name: part.title for part in parts if isinstance(part, Stage)}
    return {**found, again.STEP.partition("/")[0]: again.TITLE}


def list_calls(content: Iterable[Block]) -> Iterable[tuple[str, str]]:
    """Return tool and subject of each call in an answer; what no tool takes is left out."""
    for block in content:
        tool = tool_named(block["name"]) if block.get("type") == "tool_use" else None
        if tool is not None:
            with suppress(ValidationError):
                yield tool.name, tool.model_validate(block["input"]).subject()
