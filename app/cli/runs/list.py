"""The command `fettle runs`: what became of each, from the databases, without changing anything."""

from __future__ import annotations

import asyncio
import json as json_module
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agents.errors import ConfigError
from app.cli.declaration import DatabaseFile, Json, ManualGroup, add
from app.cli.runs import calibration
from app.cli.runs import control as runs_steered
from app.cli.terminal import PERSON

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.store.database import Database
    from app.store.runs import KeptRun

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick


class ListedState(StrEnum):
    """Where a run can stand."""

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    FAILED = "failed"
    COVERED = "covered"


runs = typer.Typer(
    cls=ManualGroup,
    name="runs",
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class Filters:
    """Which runs are wanted."""

    states: tuple[str, ...]
    repository: str | None
    limit: int


@runs.callback()
def listing(
    chosen: typer.Context,
    *,
    state: Annotated[
        list[ListedState] | None,
        typer.Option("--state", metavar="STATE", help="Only those in it; may be repeated."),
    ] = None,
    repository: Annotated[
        str | None,
        typer.Option("--repository", metavar="OWNER/NAME", help="Only its runs; the name will do."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="N", help="How many at most.")
    ] = 20,
    json: Json = False,
    database: DatabaseFile = None,
) -> None:
    """List the runs."""
    if chosen.invoked_subcommand is not None:
        if state or repository or json or database:
            raise ConfigError("Options stand behind the command that they are for.")
        return
    from app.cli.runs.show import show_list

    filters = Filters(tuple(each.value for each in state or ()), repository, limit)
    found, more = asyncio.run(_list(_settings(), database, filters))
    if json:
        typer.echo(json_module.dumps(found, indent=2))
    else:
        show_list(found, more=more)


def show(
    ident: runs_steered.Ident,
    *,
    turns: Annotated[bool, typer.Option("--turns", help="With each turn and its diff.")] = False,
    json: Json = False,
    database: DatabaseFile = None,
) -> None:
    """Show one run."""
    from app.cli.runs.show import show_run

    found = asyncio.run(_show(_settings(), database, ident, turns=turns))
    if found is None:
        sys.exit(PERSON)
    if json:
        typer.echo(json_module.dumps(found, indent=2))
    else:
        show_run(found)


add(runs, show, "Show one run.")
runs_steered.register(runs)
calibration.register(runs)


def _settings() -> Settings:
    from app.config.settings import load_settings

    return load_settings(serving=False)


# --- finding them -------------------------------------------------------------------------------


async def _list(
    settings: Settings, file: Path | None, filters: Filters
) -> tuple[list[dict[str, Any]], bool]:
    """Return the newest runs of all places, and whether there are more."""
    from app.cli.runs.find import shorten
    from app.cli.storage.databases import list_places, of_each
    from app.cli.terminal import redactor_of
    from app.store.runs import History
    from app.views.record import describe_run

    async def ask(database: Database) -> tuple[list[KeptRun], list[str]]:
        history = History(database)
        states, most = filters.states, filters.limit + 1
        newest = await history.newest(most, states=states, repository=filters.repository)
        return newest, await history.ids()

    told = await of_each(list_places(settings, file), ask)
    found = [(run, place) for place, (runs, _) in told for run in runs]
    found.sort(key=lambda each: each[0].created_at, reverse=True)
    short = shorten(ident for _, (_, ids) in told for ident in ids)
    redactor = redactor_of(settings)
    shown = [
        describe_run(run, redactor, short=short.get(run.id, run.id), clone=place.clone)
        for run, place in found[: filters.limit]
    ]
    return shown, len(found) > filters.limit


async def _show(
    settings: Settings, file: Path | None, ident: str, *, turns: bool
) -> dict[str, Any] | None:
    """Return all of the run that is meant; None when that is unclear, which people are told."""
    from app.cli.runs.find import find
    from app.cli.storage.databases import open_database
    from app.cli.terminal import redactor_of
    from app.store.alerts import Remediations
    from app.store.runs import History
    from app.views.record import alerts, describe_run, details

    found = await find(settings, file, ident)
    if found is None:
        return None
    redactor, place, run = redactor_of(settings), found.place, found.run
    with open_database(place) as database:
        mirror = place.mirror(run.repository_id) if turns else None
        return {
            **describe_run(run, redactor, short=found.short, clone=place.clone),
            **await details(run, History(database), redactor, turns=turns, mirror=mirror),
            **alerts(await Remediations(database).find(run.id)),
        }
