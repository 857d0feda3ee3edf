"""Follow the demo's run from outside: what its server stored becomes calls of a `Reporter`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, select

from agents.pipelines.resolve import pipeline
from agents.ports import Reporter, Usage
from agents.run import Outcome, Stage
from agents.tools import tool_named
from app.local.scene import Scene
from app.store.database import Database
from app.store.tables import runs, turns

TITLES = {part.name: part.title for part in vars(pipeline).values() if isinstance(part, Stage)}
JUDGING = "Run upstream's own tests, before and after"

_DONE = re.compile(r"^- \[x\] (?P<title>.*?)(?: \((?P<number>\d+)\))?: (?P<summary>.*)$")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class Follower:
    """Tells a reporter what happened since the last look.

    Stages, tool calls and spending are in the store at once. What a stage came to stands in the
    progress comment, which follows some seconds later; `comment` returns its text so far.
    """

    def __init__(self, database: Database, comment: Callable[[], str], reporter: Reporter) -> None:
        self._database = database
        self._comment = comment
        self._reporter = reporter
        self._stages: list[str] = []
        self._seen = 0.0
        self._usage, self._usd, self._answers = Usage(), 0.0, 0

    async def look(self) -> Outcome | None:
        """Look once; return how the run ended, once it has."""
        found = await self._database.read(self._news)
        if found is None:
            return None
        stage, outcome, rows = found
        self._stage(stage or "")
        for row in rows:
            self._turn(row)
        self._summaries()
        return Outcome.model_validate_json(outcome) if outcome else None

    def _news(self, connection: Connection) -> tuple[str | None, str | None, list[Any]] | None:
        newest = select(runs.c.id, runs.c.stage, runs.c.outcome).order_by(runs.c.created_at.desc())
        run = connection.execute(newest.limit(1)).one_or_none()
        if run is None:
            return None
        later = (turns.c.run_id == run.id, turns.c.created_at > self._seen)
        rows = connection.execute(select(turns).where(*later).order_by(turns.c.created_at)).all()
        return run.stage, run.outcome, list(rows)

    def _stage(self, step: str) -> None:
        """Tell of a stage that began; `step` is the engine's name, like `stage/implement/2`."""
        kind, _, occurrence = step.partition("/")
        name = occurrence.rpartition("/")[0]
        if kind == "stage" and occurrence not in self._stages and name in TITLES:
            self._stages.append(occurrence)
            self._reporter.stage_started(occurrence, TITLES[name])

    def _turn(self, row: Any) -> None:
        self._seen = row.created_at
        if row.kind != "answer":
            return
        self._usage += Usage.model_validate_json(row.usage)
        self._usd, self._answers = self._usd + row.cost_usd, self._answers + 1
        self._reporter.spent(self._usage, self._usd, self._answers)
        for tool, subject in called(json.loads(row.content)):
            self._reporter.tool_called(row.stage, tool, subject)

    def _summaries(self) -> None:
        told: dict[tuple[str, str], str] = {}
        for line in self._comment().splitlines():
            if found := _DONE.match(line):
                told[found["title"], found["number"] or "1"] = _ESCAPED.sub(r"\1", found["summary"])
        for occurrence in self._stages:
            name, _, number = occurrence.rpartition("/")
            if (TITLES[name], number) in told:
                self._reporter.stage_finished(occurrence, told[TITLES[name], number])


def called(content: Iterable[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    """Return tool and subject of each call in an answer; what no tool takes is left out."""
    for block in content:
        tool = tool_named(block["name"]) if block["type"] == "tool_use" else None
        if tool is not None:
            with suppress(ValidationError):
                yield tool.name, tool.model_validate(block["input"]).subject()


def store_of(scene: Scene) -> Database:
    """Return the store of the demo's server, which lies beside the local GitHub."""
    return Database(f"sqlite:///{scene.github.world.root.parent / 'fettle' / 'fettle.db'}")
