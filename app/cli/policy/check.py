"""The commands `fettle policy check` and `schema`: the file before anybody else sees it."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agents.errors import ConfigError
from agents.policy import POLICY_PATH, FolderEntry, Policy, PolicyFault, examine, listed_policy
from agents.policy.schema import json_schema
from agents.text import printable
from app.cli.declaration import JsonObject
from app.cli.terminal import DONE, FAILED, say

LONGEST_READ = 1_000_001  # bytes


def schema() -> None:
    """Print the schema."""
    typer.echo(json_text.dumps(json_schema(), indent=2))


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The policy.")] = Path(POLICY_PATH),
    *,
    json: JsonObject = False,
) -> None:
    """Say what is wrong."""
    faults = _faults(file)
    if json:
        record = {"file": str(file), "valid": not faults, "faults": [asdict(f) for f in faults]}
        typer.echo(json_text.dumps(record, indent=2))
    else:
        for each in faults:
            typer.echo(printable(f"{file}:{each.line}:{each.column}: {each.text}"))
        say(f"{file} is not valid: {len(faults)} to mend." if faults else f"{file} is valid.")
    sys.exit(FAILED if faults else DONE)


def content_of(file: Path) -> bytes:
    """Return what is in the file, of a far too long one its beginning. Raises ConfigError."""
    try:
        if file.exists() and not file.is_file():  # to read what it is may never end
            raise ConfigError(f"The policy `{file}` is no file, so nothing is read from it.")
        with file.open("rb") as opened:
            return opened.read(LONGEST_READ)
    except OSError as error:
        raise ConfigError(f"The policy `{file}` cannot be read: {error.strerror}.") from error


def _faults(file: Path) -> tuple[PolicyFault, ...]:
    """Return what is wrong with the file, also with its name and what it is."""
    data, link = content_of(file), file.is_symlink()
    if file.absolute().parent.name == Path(POLICY_PATH).parent.name:
        listed = FolderEntry(file.name, "symlink" if link else "file", len(data), "")
        if isinstance(found := listed_policy([listed]), PolicyFault):
            return (found,)
    found_in = examine(data)
    return () if isinstance(found_in, Policy) else found_in
