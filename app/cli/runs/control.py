"""`fettle runs cancel` and `fettle runs retry`: end a run, or do it once more."""

from __future__ import annotations

import asyncio
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.errors import ConfigError
from app.cli.declaration import DatabaseFile, JsonAtEnd, add
from app.cli.terminal import DONE, FAILED, PERSON, say
from app.views.text import make_visible

if TYPE_CHECKING:
    from app.cli.runs.find import FoundRun
    from app.config.settings import Settings
    from app.operator.issue_request import Wanted
    from app.store.database import Database
    from app.store.runs import KeptRun

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

PATIENCE = 15.0
LOOK_SECONDS = 0.2
BY_ALERT = (
    "That is a run about alerts: {reference}. Ask for it once more with `fettle remediate {name}`,"
    " where --package narrows it to one."
)
BY_ITSELF = (
    "Nobody asks for runs of this kind: Fettle begins them by itself, on an occasion or by the"
    " clock."
)
BY_UNDO = (
    "That run made a pull request which takes another one back. Ask for it once more with `fettle"
    " undo {reference}`."
)
BY_HAND = (
    "That is a run of `fettle resolve` on a clone. Ctrl-C stops it where it was started, and the"
    " same command goes on with it."
)

AFRESH = (
    "To have it done without that run, ask for it afresh: `fettle resolve`, `fettle address` or"
    " `fettle update`, with OWNER/NAME#NUMBER behind it."
)

Ident = Annotated[str, typer.Argument(metavar="ID", help="The run, or how its id begins.")]


def register(runs: typer.Typer) -> None:
    """Add the commands."""
    add(runs, cancel, "End a run.")
    add(runs, retry, "Do a run once more.")


def cancel(
    ident: Ident,
    reason: Annotated[
        list[str] | None, typer.Argument(metavar="REASON", help="Why, for people.")
    ] = None,
    *,
    database: DatabaseFile = None,
) -> None:
    """Cancel one run."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    sys.exit(asyncio.run(_cancel(settings, database, ident, " ".join(reason or ()))))


def retry(
    ident: Ident,
    *,
    stage: Annotated[
        str,
        typer.Option("--from", metavar="STAGE", help="Keep what the run did before this stage."),
    ] = "",
    json: JsonAtEnd = False,
) -> None:
    """Do one run again."""
    from app.config.settings import load_settings

    sys.exit(asyncio.run(_retry(load_settings(serving=False), ident, stage, json=json)))


# --- cancel -------------------------------------------------------------------------------------


async def _cancel(settings: Settings, file: Path | None, ident: str, words: str) -> int:
    from app.cli.runs.find import find
    from app.cli.storage.databases import open_database
    from app.operator.submit import is_served

    found = await find(settings, file, ident)
    if found is None:
        return PERSON
    if found.place.clone:
        raise ConfigError(BY_HAND)
    if found.run.outcome is not None:
        say(f"The run has ended already: {_words(found.run)}")
        return DONE if found.run.state == "cancelled" else FAILED
    alone = found.place.url.startswith("sqlite") and not await is_served(settings)
    with open_database(found.place) as database:
        await _ask_to_cancel(database, found.run.id, words)
        run = await _wait_for_end(database, found.run.id, 0.0 if alone else PATIENCE)
    if run is not None:
        say(_words(run))
        return DONE if run.state == "cancelled" else FAILED
    if alone:
        say(
            f"Noted. Nobody works on the run {found.short} now; it ends as soon as `fettle serve`"
            " runs again."
        )
        return PERSON
    say(f"Asked for. The run {found.short} ends as soon as it comes to a safe place.")
    return DONE


async def _ask_to_cancel(database: Database, run_id: str, words: str) -> None:
    from app.config.system_user import find_operator
    from app.store.runs import StoredSteers

    # Who cancels twice says nothing new: the first reason is the one that people read.
    key = f"terminal-cancel-{run_id}"[:120]
    steers = StoredSteers(database)
    await steers.insert(run_id, key, kind="cancel", via="terminal", by=find_operator(), words=words)


async def _wait_for_end(database: Database, run_id: str, patience: float) -> KeptRun | None:
    """Return the run once it has ended; None when that takes longer."""
    from app.store.runs import History

    for _ in range(int(patience / LOOK_SECONDS)):
        run = await History(database).run(run_id)
        if run is not None and run.outcome is not None:
            return run
        await asyncio.sleep(LOOK_SECONDS)
    return None


def _words(run: KeptRun) -> str:
    return make_visible(run.outcome.text) if run.outcome else run.state


# --- retry --------------------------------------------------------------------------------------


async def _retry(settings: Settings, ident: str, stage: str, *, json: bool) -> int:
    from app.cli.runs.find import find
    from app.config.settings import load_settings

    chosen = _stage(stage) if stage.strip() else ""
    try:
        found = await find(settings, None, ident)
    except ConfigError as error:
        raise ConfigError(f"{error}\n{AFRESH}") from error
    if found is None:
        return PERSON
    if found.place.clone:
        from app.cli.runs.retry_clone import retry_clone

        return await retry_clone(settings, found, chosen, json=json)
    settings = load_settings()  # the rest takes what a server takes
    if found.run.outcome is None:
        raise ConfigError(
            f"The run {found.short} is under way. Wait for it, or end it with"
            f" `fettle runs cancel {found.short}`."
        )

    # This takes seconds: a mistake is told before.
    from app.cli.resolve.work_on_issue import work_on

    return await work_on(settings, await _make_request(found, chosen), json=json)


async def _make_request(found: FoundRun, stage: str) -> Wanted:
    """Return what the run was to do, to be done once more."""
    from agents.requests import Again
    from app.cli.storage.databases import open_database
    from app.operator.issue_reference import IssueName
    from app.operator.issue_request import COMMANDS, Wanted
    from app.store.runs import Runs

    if found.run.kind == "remediate_alert":
        raise ConfigError(BY_ALERT.format(reference=found.run.reference, name=found.run.repository))
    if found.run.kind == "revert_change":
        raise ConfigError(BY_UNDO.format(reference=found.run.reference))
    if found.run.kind not in COMMANDS:
        raise ConfigError(BY_ITSELF)
    owner, _, name = found.run.repository.partition("/")
    with open_database(found.place) as database:
        last = await Runs(database).request(found.run.id)
    last = last if isinstance(last, dict) else {}
    if found.run.kind == "fix_checks" and not (last.get("head") and last.get("branch")):
        raise ConfigError(f"Nobody can read any more which checks the run was about. {AFRESH}")
    return Wanted(
        IssueName(owner, name, found.run.number),
        kind=found.run.kind,
        again=Again(run_id=found.run.id, stage=stage),
        head=last.get("head", ""),
        branch=last.get("branch", ""),
    )


def _stage(typed: str) -> str:
    """Return the stage, like `implement/2`. Raises ConfigError when there is none of that name."""
    from app.runs.follow import stage_titles

    words, _, number = typed.partition("/")
    name = "_".join(words.replace("-", " ").replace("_", " ").lower().split())
    titles = stage_titles()
    if name in titles:
        return f"{name}/{number.strip()}" if number.strip().isdecimal() else name
    near = get_close_matches(name, titles, 1, 0.5)
    hint = f" Did you mean `{near[0]}`?" if near else f" There are: {', '.join(sorted(titles))}."
    raise ConfigError(f"There is no stage `{make_visible(typed)}`.{hint}")
