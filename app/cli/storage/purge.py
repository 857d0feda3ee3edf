"""The command `fettle forget`: delete all that is kept about a repository."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agents.errors import ConfigError
from app.cli.terminal import DONE, FAILED, say
from app.views.text import make_visible

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.cli.storage.database_lock import Rewritten
    from app.cli.storage.databases import RunDatabase
    from app.config.settings import Settings
    from app.maintenance.purge import PurgedCounts
    from app.store.database import Database

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

PATIENCE, LOOK_SECONDS = 60.0, 0.2
WHY = "Everything about the repository is deleted."


def forget(
    repository: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="Which one.")],
    *,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="End its runs that are under way first.")
    ] = False,
    untold: Annotated[
        bool, typer.Option("--untold", help="With --cancel, also when no server can tell people.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Forget one repository."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    if repository.count("/") != 1:
        raise ConfigError("Name the repository like octo/lib.")
    sys.exit(asyncio.run(_forget(settings, repository, cancel=cancel, untold=untold, yes=yes)))


async def _forget(settings: Settings, name: str, *, cancel: bool, untold: bool, yes: bool) -> int:
    from app.cli.storage.database_lock import hold_database, rewrite_database
    from app.cli.storage.databases import known_places
    from app.store.repository_rows import ids_of, live_of

    place = next((each for each in known_places(settings) if not each.clone), None)
    if place is None:
        raise ConfigError(f"There is no database in `{settings.data_dir}`.")
    async with hold_database(settings, place) as (database, alone):
        if not (ids := await ids_of(database, name)):
            # Who was told to come back comes for this.
            await rewrite_database(database, alone=alone)
            raise ConfigError(f"Nothing is known of {make_visible(name)} here.")
        live = await database.read(lambda c: live_of(c, ids))
        _require_over(live, cancel=cancel, untold=untold, alone=alone)
        if not yes and not _confirm(name, len(live)):
            return FAILED
        if live and not alone and not await _cancel_runs(database, live):
            say("A run does not come to its end. Nothing was deleted; try again in a while.")
            return FAILED
        done = await _purge(database, settings, ids, alone=alone)
        if done is None:
            say("Something of it does not come to its end. Nothing was deleted; try again later.")
            return FAILED
        made = await rewrite_database(database, alone=alone)
    say(f"Forgotten: {done.runs} runs and {done.deliveries} deliveries of {make_visible(name)}.")
    return _tell_what_is_left(place, made)


def _tell_what_is_left(place: RunDatabase, made: Rewritten) -> int:
    from app.cli.storage.database_lock import Rewritten

    if made is Rewritten.BUSY:
        say("The database's file is held up, and still has what was deleted. Run this again.")
        return FAILED
    if made is Rewritten.LATER:
        say(
            "What was deleted is overwritten. The file is large, and a server is at work: to clear"
            " the parts that are not in use as well, run this once more while it is stopped."
        )
    if not place.url.startswith("sqlite"):
        say("PostgreSQL overwrites what was deleted in its own time; VACUUM FULL does so now.")
    return DONE


def _require_over(live: list[str], *, cancel: bool, untold: bool, alone: bool) -> None:
    if live and not cancel:
        raise ConfigError(
            f"{len(live)} of its runs {'is' if len(live) == 1 else 'are'} under way: `fettle runs`"
            " shows them. Wait for the end, or add --cancel."
        )
    if live and alone and not untold:
        raise ConfigError(
            "No server is at work that could tell people on GitHub how their runs end. Start it and"
            " run this again, or add --untold: then what it said there last stays as it is."
        )


def _confirm(name: str, live: int) -> bool:
    if not sys.stdin.isatty():
        raise ConfigError("There is no terminal to ask on. Say --yes if you mean it.")
    more = f", ending {live} runs" if live else ""
    question = f"Delete everything about {make_visible(name)}{more}? It cannot be undone."
    return typer.confirm(question, default=False, err=True)


async def _purge(
    database: Database, settings: Settings, ids: Collection[int], *, alone: bool
) -> PurgedCounts | None:
    """Forget it once the server has recorded the last step of what ended; None: it does not."""
    from app.maintenance.purge import StillLive
    from app.maintenance.purge import forget as forgetting

    for _ in range(int(PATIENCE / LOOK_SECONDS)):
        try:
            return await forgetting(database, settings.data_dir, ids, alone=alone)
        except StillLive:
            await asyncio.sleep(LOOK_SECONDS)
    return None


async def _cancel_runs(database: Database, live: list[str]) -> bool:
    """Have the runs end; return whether they have."""
    from app.config.system_user import find_operator
    from app.store.expire_rows import live_among
    from app.store.runs import StoredSteers

    steers = StoredSteers(database)
    for run_id in live:
        key = f"forget-{run_id}"[:120]
        await steers.insert(
            run_id, key, kind="cancel", via="terminal", by=find_operator(), words=WHY
        )
    for _ in range(int(PATIENCE / LOOK_SECONDS)):
        if not await database.read(lambda c: live_among(c, live, float("inf"))):
            return True
        await asyncio.sleep(LOOK_SECONDS)
    return False
