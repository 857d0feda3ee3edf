"""The command `fettle flaky`: which tests fail now and then, as runs saw them."""

from __future__ import annotations

import asyncio
import json as json_text
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.errors import ConfigError
from app.cli.declaration import Json
from app.cli.storage.databases import RunDatabase, known_places, open_database
from app.cli.terminal import redactor_of, say
from app.views.text import make_visible, redact

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from agents.ports import FlakyTest
    from app.config.settings import Settings

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

_NEITHER = "`{named}` is neither a clone's folder nor a repository's name, like octo/lib."
_UNKNOWN = "Nothing is known of {named} here."
_FORGOTTEN = "Forgotten: what {runs} saw of tests in {named} that fail now and then."


def flaky(
    repository: Annotated[
        str, typer.Argument(metavar="REPOSITORY", help="OWNER/NAME, or the path of a clone.")
    ],
    *,
    forget: Annotated[
        bool, typer.Option("--forget", help="Delete what is known of them instead.")
    ] = False,
    json: Json = False,
) -> None:
    """List tests that fail now and then."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    if forget:
        runs = asyncio.run(_forget(settings, repository))
        named = "1 run" if runs == 1 else f"{runs} runs"
        say(_FORGOTTEN.format(runs=named, named=make_visible(repository)))
        return
    found = asyncio.run(_list(settings, repository))
    if json:
        told = redact([each.model_dump() for each in found], redactor_of(settings))
        typer.echo(json_text.dumps(told, indent=2, ensure_ascii=False))
    elif found:
        _show(found)
    else:
        say("No run saw a test fail now and then.")


async def _list(settings: Settings, named: str) -> Sequence[FlakyTest]:
    from app.store.flaky_tests import read_flaky

    place, ids = await _find(settings, named)
    if place is None:
        return ()
    with open_database(place) as database:
        return await database.read(lambda c: read_flaky(c, ids))


async def _forget(settings: Settings, named: str) -> int:
    from app.store.flaky_tests import forget_flaky

    place, ids = await _find(settings, named)
    if place is None:
        return 0
    with open_database(place) as database:
        return await database.write(lambda c: forget_flaky(c, ids))


def _find_folder(named: str) -> Path | None:
    path = Path(named).expanduser()
    return path if path.is_dir() else None


async def _find(settings: Settings, named: str) -> tuple[RunDatabase | None, Collection[int]]:
    """Return the database, and the repository's ids there; no database where none was made yet.

    Raises ConfigError for what is neither a clone nor a known repository.
    """
    from app.clone.flaky_tests import CLONE, find_memory_at
    from app.store.repository_rows import ids_of

    if path := _find_folder(named):
        file = await find_memory_at(settings.data_dir, path)
        url = f"sqlite:///{file}"
        place = RunDatabase(url, file.parent, clone=True, cipher=settings.cipher)
        return (place if file.exists() else None), {CLONE}
    if named.count("/") != 1:
        raise ConfigError(_NEITHER.format(named=make_visible(named)))
    server = next((each for each in known_places(settings) if not each.clone), None)
    ids: set[int] = set()
    if server is not None:
        with open_database(server) as database:
            ids = await ids_of(database, named)
    if not ids:
        raise ConfigError(_UNKNOWN.format(named=make_visible(named)))
    return server, ids


def _show(found: Sequence[FlakyTest]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("Test", "Check", "Runs", "Without a change", "Last seen"):
        table.add_column(heading)
    for each in found:
        day = f"{datetime.fromtimestamp(each.last_at, UTC):%Y-%m-%d}"
        texts = (each.name, each.command, str(each.runs), str(each.unchanged), day)
        table.add_row(*(Text(make_visible(" ".join(text.split()))) for text in texts))
    Console().print(table)
