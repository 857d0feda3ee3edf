"""The command `fettle runs calibration`: how often triage was right about what would be merged."""

from __future__ import annotations

import asyncio
import json as json_text
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.cli.declaration import DatabaseFile, Json, add
from app.cli.terminal import say

if TYPE_CHECKING:
    from pathlib import Path

    from app.config.settings import Settings
    from app.store.database import Database
    from app.views.calibration import Calibration, Prediction

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

MOST = 10_000
"""Runs that are read, the newest."""
_NOTHING = (
    "No pull request of which triage said how sure it was has been merged or closed yet, as far as"
    " this database knows."
)
_SCORE = (
    "{count} pull requests, {merged:.0%} of them merged. Brier score {brier:.3f}; who always says"
    " {merged:.0%} has {always:.3f}. Lower is better."
)


def calibration(
    *,
    repository: Annotated[
        str | None,
        typer.Option("--repository", metavar="OWNER/NAME", help="Only its runs; the name will do."),
    ] = None,
    json: Json = False,
    database: DatabaseFile = None,
) -> None:
    """Tell how often triage was right."""
    from app.config.settings import load_settings
    from app.views.calibration import calibrate

    settings = load_settings(serving=False)
    found = calibrate(asyncio.run(_read(settings, database, repository)))
    if json:
        typer.echo(json_text.dumps(found.to_json(), indent=2))
    elif not found.count:
        say(_NOTHING)
    else:
        _show(found)


async def _read(settings: Settings, file: Path | None, repository: str | None) -> list[Prediction]:
    from app.cli.storage.databases import list_places, of_each

    async def ask(database: Database) -> list[Prediction]:
        return await read_predictions(database, repository)

    told = await of_each(list_places(settings, file), ask)
    return [each for _, found in told for each in found]


async def read_predictions(database: Database, repository: str | None) -> list[Prediction]:
    """Return what was said of each pull request that has ended, by the last run that worked on it.

    Runs count for as long as their texts are kept.
    """
    from app.store.ended_pulls import EndedPulls
    from app.store.runs import History
    from app.views.calibration import Prediction

    ends = await EndedPulls(database).read_ends()
    found: dict[tuple[int, int], Prediction] = {}
    for run in await History(database).newest(MOST, states=("done",), repository=repository):
        outcome = run.outcome
        if outcome is None or outcome.confidence is None or outcome.pull_request is None:
            continue
        place = (run.repository_id, outcome.pull_request.number or 0)
        if place in ends and place not in found:
            found[place] = Prediction(outcome.confidence, ends[place])
    return list(found.values())


def _show(found: Calibration) -> None:
    typer.echo(
        _SCORE.format(
            count=found.count, merged=found.merged, brier=found.brier, always=found.always
        )
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("Triage said", "Pull requests", "Said on average", "Merged"):
        table.add_column(heading, justify="right")
    for row in found.rows:
        if row.count:
            said = f"{row.least} to {row.most} %"
            table.add_row(said, str(row.count), f"{row.said:.0%}", f"{row.merged:.0%}")
    Console().print(table)


def register(runs: typer.Typer) -> None:
    """Add the command to the group of `fettle runs`."""
    add(runs, calibration, "Tell how often triage was right.")
