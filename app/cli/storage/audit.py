"""The command `fettle audit`: what was done with privilege, and whether the record is whole."""

from __future__ import annotations

import asyncio
import json as json_text
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.errors import ConfigError
from app.cli.declaration import DatabaseFile, ManualGroup, add
from app.cli.storage.databases import list_places, open_database
from app.cli.terminal import DONE, FAILED, say
from app.views.text import make_visible

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from app.store.audit import AuditEntry

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

T = TypeVar("T")

_KEPT = re.compile(r"(\d+):([0-9a-f]{64})")
_HOLDS = "The audit log holds: {entries}. The newest is {number}:{hash}"
_EMPTY = "The audit log holds: nothing was done yet."
_BROKEN = "The audit log does not hold: {fault}."
_SHORT = "it ends at {number}, and {kept} was there"
_OTHER = "entry {kept} has another hash than the one that was kept"
_LINE = "Line {number} of `{file}` is no entry of an audit log."

audit = typer.Typer(
    cls=ManualGroup,
    name="audit",
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode=None,
)


@audit.callback()
def listing(
    chosen: typer.Context,
    *,
    limit: Annotated[
        int, typer.Option(min=1, max=1_000_000, metavar="N", help="How many of the newest.")
    ] = 20,
    json: Annotated[
        bool, typer.Option("--json", help="Print all of them, one JSON object a line.")
    ] = False,
    database: DatabaseFile = None,
) -> None:
    """List what was done."""
    if chosen.invoked_subcommand is not None:
        return
    if json:
        _read(database, _print_all)
    else:
        _show(_read(database, lambda entries: deque(entries, limit)))


def verify(
    *,
    kept: Annotated[
        str | None,
        typer.Option(
            "--kept", metavar="NUMBER:HASH", help="An entry as it was noted elsewhere, to be there."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="What `fettle audit --json` had printed."),
    ] = None,
    database: DatabaseFile = None,
) -> None:
    """Hold each entry against those before it."""
    wanted = _parse_kept(kept)
    if file is not None:
        last, fault = _check(_read_file(file), wanted)
    else:
        last, fault = _read(database, lambda entries: _check(entries, wanted))
    if fault is not None:
        say(_BROKEN.format(fault=fault))
        sys.exit(FAILED)
    if last is None:
        say(_EMPTY)
    else:
        entries = "1 entry" if last.number == 1 else f"{last.number} entries"
        say(_HOLDS.format(entries=entries, number=last.number, hash=last.hash))
    sys.exit(DONE)


add(audit, verify, "Hold each entry against those before it.")


def _read(database: Path | None, use: Callable[[Iterator[AuditEntry]], T]) -> T:
    from app.config.settings import load_settings
    from app.store.audit import read_entries

    def read(connection: Connection) -> T:
        return use(read_entries(connection))

    with open_database(list_places(load_settings(serving=False), database)[0]) as opened:
        return asyncio.run(opened.read(read))


def _read_file(file: Path) -> Iterator[AuditEntry]:
    from app.store.audit import AuditEntry

    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield AuditEntry(**json_text.loads(line))
                except (ValueError, TypeError) as error:
                    raise ConfigError(_LINE.format(number=number, file=file)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"`{file}` cannot be read.") from error


def _parse_kept(kept: str | None) -> tuple[int, str] | None:
    if kept is None:
        return None
    if (found := _KEPT.fullmatch(kept)) is None:
        raise ConfigError("`--kept` takes a number and a hash, as `fettle audit verify` ends with.")
    return int(found[1]), found[2]


def _check(
    entries: Iterator[AuditEntry], kept: tuple[int, str] | None
) -> tuple[AuditEntry | None, str | None]:
    """Return the newest entry that holds, and what is wrong behind it."""
    last: AuditEntry | None = None
    for each in entries:
        if (fault := each.find_fault(last)) is not None:
            return last, fault
        if kept and each.number == kept[0] and each.hash != kept[1]:
            return last, _OTHER.format(kept=each.number)
        last = each
    number = last.number if last else 0
    if kept and number < kept[0]:
        return last, _SHORT.format(number=number, kept=kept[0])
    return last, None


def _print_all(entries: Iterator[AuditEntry]) -> None:
    for each in entries:
        typer.echo(json_text.dumps(asdict(each), sort_keys=True))


def _show(entries: deque[AuditEntry]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("No", "When", "What", "Who", "Where", "Details"):
        table.add_column(heading, overflow="fold")
    for each in entries:
        act = each.act
        told = act.get("details") or {}
        shown = {name: value for name, value in told.items() if value is not None}
        shown.pop("settings", None)  # digests
        details = " ".join(f"{name}={_plain(value)}" for name, value in shown.items())
        when = f"{datetime.fromtimestamp(each.at, UTC):%Y-%m-%d %H:%M:%S}"
        who, where = act.get("actor", "(forgotten)"), act.get("repository", "")
        row = (str(each.number), when, each.kind, who, where, details)
        table.add_row(*(Text(make_visible(text)) for text in row))
    Console().print(table)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json_text.dumps(value)
