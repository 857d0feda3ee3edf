"""The command `fettle runs`: what became of each, from the databases, without changing anything."""

from __future__ import annotations

import asyncio
import json as json_module
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agents.errors import ConfigError
from app.cli import manual, runs_manual
from app.cli.screen import PERSON, say
from app.cli.seen import line

if TYPE_CHECKING:
    from app.settings import Settings
    from app.store.history import History, KeptRun

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

SHORTEST = 8  # characters of a shown id
MOST_NEAR = 5


class State(StrEnum):
    """Where a run can stand."""

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
File = Annotated[
    Path | None,
    typer.Option(
        "--database",
        metavar="FILE",
        help="A SQLite file, when it is not one of those that the settings name.",
    ),
]

runs = typer.Typer(
    cls=manual.FettleManual,
    help=runs_manual.RUNS,
    short_help="List runs; show one with all that it did.",
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
        list[State] | None,
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
    database: File = None,
) -> None:
    """List the runs."""
    if chosen.invoked_subcommand is not None:
        if state or repository or json or database:
            raise ConfigError("Options stand behind the command that they are for.")
        return
    from app.cli.runs_shown import show_list

    filters = Filters(tuple(each.value for each in state or ()), repository, limit)
    found, more = asyncio.run(_list(_settings(), database, filters))
    if json:
        typer.echo(json_module.dumps(found, indent=2))
    else:
        show_list(found, more=more)


@runs.command("show", help=runs_manual.SHOW, short_help="Show one run.", cls=manual.Manual)
def show(
    ident: Annotated[str, typer.Argument(metavar="ID", help="The run, or how its id begins.")],
    *,
    turns: Annotated[bool, typer.Option("--turns", help="With each turn and its diff.")] = False,
    json: Json = False,
    database: File = None,
) -> None:
    """Show one run."""
    from app.cli.runs_shown import show_run

    found = asyncio.run(_show(_settings(), database, ident.strip().lower(), turns=turns))
    if found is None:
        sys.exit(PERSON)
    if json:
        typer.echo(json_module.dumps(found, indent=2))
    else:
        show_run(found)


def _settings() -> Settings:
    from app.settings import load_settings

    return load_settings(serving=False)


# --- finding them -------------------------------------------------------------------------------


async def _list(
    settings: Settings, file: Path | None, filters: Filters
) -> tuple[list[dict[str, Any]], bool]:
    """Return the newest runs of all places, and whether there are more."""
    from app.cli.runs_places import of_each, places
    from app.cli.runs_record import about
    from app.cli.seen import redactor_of

    async def ask(history: History) -> tuple[list[KeptRun], list[str]]:
        states, most = filters.states, filters.limit + 1
        newest = await history.newest(most, states=states, repository=filters.repository)
        return newest, await history.ids()

    told = await of_each(places(settings, file), ask)
    found = [(run, place) for place, (runs, _) in told for run in runs]
    found.sort(key=lambda each: each[0].created_at, reverse=True)
    short = shortened(ident for _, (_, ids) in told for ident in ids)
    redactor = redactor_of(settings)
    shown = [
        about(run, redactor, short=short.get(run.id, run.id), clone=place.clone)
        for run, place in found[: filters.limit]
    ]
    return shown, len(found) > filters.limit


async def _show(
    settings: Settings, file: Path | None, ident: str, *, turns: bool
) -> dict[str, Any] | None:
    """Return all of the run that is meant; None when that is unclear, which people are told."""
    from app.cli.runs_places import of_each, opened, places
    from app.cli.runs_record import about, details
    from app.cli.seen import redactor_of

    told = await of_each(places(settings, file), lambda history: history.ids())
    where = {ident: place for place, ids in told for ident in ids}
    run_id = _meant(ident, list(where))
    if run_id is None:
        return None
    redactor, place = redactor_of(settings), where[run_id]
    with opened(place) as history:
        run = await history.run(run_id)
        if run is None:
            raise ConfigError("That run was removed just now.")
        mirror = place.mirror(run.repository_id) if turns else None
        return {
            **about(run, redactor, short=shortened(where)[run_id], clone=place.clone),
            **await details(run, history, redactor, turns=turns, mirror=mirror),
        }


def _meant(ident: str, ids: list[str]) -> str | None:
    """Return the id that is meant; None when that is unclear, which people are then told."""
    meant = [each for each in ids if each.lower().startswith(ident)]
    exact = [each for each in meant if each.lower() == ident]
    if len(exact or meant) == 1:
        return (exact or meant)[0]
    called, short = line(ident, 100), shortened(ids)
    if meant:
        named, more = _named(meant, short)
        say(f"{len(meant)} runs have an id that begins with `{called}`: {named}{more}.")
        return None
    begins = {each[: max(len(ident), SHORTEST)].lower(): each for each in ids}
    near = [begins[each] for each in get_close_matches(ident, begins, MOST_NEAR, 0.6)]
    named, _ = _named(near, short)
    hint = f" Near it: {named}." if near else ""
    say(f"There is no run `{called}`.{hint} `fettle runs` lists them.")
    return None


def _named(ids: list[str], short: dict[str, str]) -> tuple[str, str]:
    named = ", ".join(line(short[each], 100) for each in ids[:MOST_NEAR])
    return named, f" and {len(ids) - MOST_NEAR} more" if len(ids) > MOST_NEAR else ""


def shortened(ids: Iterable[str]) -> dict[str, str]:
    """Return for each id its shortest beginning that no other has."""
    ordered = sorted(set(ids))
    lengths = dict.fromkeys(ordered, SHORTEST)
    for one, other in pairwise(ordered):
        pairs = zip(one, other, strict=False)
        shared = 1 + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        lengths[one] = max(lengths[one], shared)
        lengths[other] = max(lengths[other], shared)
    return {each: each[:length] for each, length in lengths.items()}
