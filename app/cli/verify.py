"""The commands `fettle verify` and `fettle signing-key`: what was stated of a change, by whom."""

from __future__ import annotations

import asyncio
import json as json_text
import re
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.errors import ConfigError
from app.cli.declaration import Json
from app.cli.terminal import redactor_of, say
from app.views.text import to_line

if TYPE_CHECKING:
    from app.attestation.signing_keys import TrustedKeys
    from app.attestation.verify import Verification
    from app.config.settings import Settings

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

_PULL = re.compile(r"([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)#([1-9][0-9]*)")
_NO_KEYS = (
    "Nobody is trusted here: this machine has no signing key of its own. Say `--keys FILE`, with"
    " what the server publishes under /.well-known/fettle-keys.json, or its operator's"
    " `fettle signing-key` prints."
)
_NO_FILE = (
    "Workers on PostgreSQL share one file of keys. Set FETTLE_SIGNING_KEY_FILE; `--new` makes it."
)
WIDE = 100  # characters of a command that are shown


def verify(
    what: Annotated[
        str,
        typer.Argument(metavar="[COMMIT | OWNER/NAME#N]", help="In the clone, HEAD by default."),
    ] = "HEAD",
    *,
    clone: Annotated[
        Path, typer.Option("--clone", metavar="PATH", help="The clone; by default this folder.")
    ] = Path(),
    keys: Annotated[
        Path | None,
        typer.Option("--keys", metavar="FILE", help="Public keys to trust, as Fettle prints them."),
    ] = None,
    json: Json = False,
) -> None:
    """Verify, and print what holds."""
    from app.config.settings import load_settings
    from app.observability.logging import configure_logging

    settings = load_settings(serving=False)
    # What git says of a repository that is not there is told in words below.
    configure_logging(style="console", level="error", cleaner=redactor_of(settings))
    trusted = _read_keys(settings, keys)
    found = asyncio.run(_verify(settings, what, clone, trusted))
    if json:
        typer.echo(json_text.dumps({**asdict(found), "verdict": found.verdict}, indent=2))
    else:
        _show(found)
    code = {"holds": 0, "does not hold": 1, "cannot be told": 2}[found.verdict]
    if code:
        raise typer.Exit(code)


def signing_key(
    *,
    new: Annotated[
        bool, typer.Option("--new", help="Sign with a new key from the next start on.")
    ] = False,
) -> None:
    """Print the public keys of this instance as JSON."""
    from app.attestation.signing_keys import add_key, load_keys
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    path = settings.signing_keys
    if path is None:
        raise ConfigError(_NO_FILE)
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    shared = settings.signing_key_file is not None
    keys = add_key(path) if new else load_keys(path, shared=shared)
    if new:
        say("Servers sign with the new key once they are started again; older keys still verify.")
    typer.echo(json_text.dumps(keys.public.document, indent=1))


def _read_keys(settings: Settings, file: Path | None) -> TrustedKeys:
    from app.attestation.signing_keys import SigningKeys, TrustedKeys

    if file is not None:
        try:
            return TrustedKeys.read(file.read_text("utf-8"), str(file))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file} cannot be read. Name a file with public keys.") from error
    own = settings.signing_keys
    if own is None or not own.exists():
        raise ConfigError(_NO_KEYS)
    return SigningKeys.read(own).public


async def _verify(settings: Settings, what: str, clone: Path, trusted: TrustedKeys) -> Verification:
    from app.attestation.subject import fetch_pull, find_commit
    from app.attestation.verify import verify as verify_commit

    if pull := _PULL.fullmatch(what):
        with tempfile.TemporaryDirectory(prefix="fettle-verify-") as folder:
            place = (settings.github_url, settings.outbound, Path(folder))
            return await verify_commit(*await fetch_pull(*place, pull[1], int(pull[2])), trusted)
    return await verify_commit(*await find_commit(clone, what), trusted)


def _show(found: Verification) -> None:
    from app.attestation.verify import list_checks

    typer.echo(f"{found.commit[:12]}: {found.verdict}")
    for claim in found.claims:
        typer.echo(f"  {claim.what}: {claim.answer}: {to_line(claim.why, 300)}")
    if found.statement is None or found.verdict == "does not hold":
        return
    about = found.statement["predicate"]
    models = {name for session in about["sessions"] for name in session["models"] if name}
    cost = about["cost"]
    typer.echo("What was signed:")
    typer.echo(f"  asked for by {about['request']['asked_by']}: {about['request']['reference']}")
    typer.echo(f"  models: {', '.join(sorted(models)) or 'none'}; ${cost['usd']:.2f}")
    for each in about["approvals"]:
        typer.echo(f"  {each['state']} by {each['by'] or 'nobody'}: {to_line(each['act'], WIDE)}")
    for stage, command, code in list_checks(found.statement):
        typer.echo(f"  exit {code} in {stage}: {to_line(command, WIDE)}")
