"""How commands are declared: each with its page of the manual, and options that several have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from app.cli.help.page import Manual

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonObject = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
JsonAtEnd = Annotated[
    bool, typer.Option("--json", help="End with one JSON object on standard output.")
]
DatabaseFile = Annotated[
    Path | None,
    typer.Option(
        "--database",
        metavar="FILE",
        help="A SQLite file, when it is not one of those that the settings name.",
    ),
]


def add(
    group: typer.Typer, run: Callable[..., None], short: str, *, name: str | None = None
) -> None:
    """Add a command, named like its function unless told otherwise."""
    group.command(name, short_help=short, cls=Manual)(run)
