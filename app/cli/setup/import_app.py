"""`fettle setup --import`: an App that is there, its secrets asked for or read from files."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from pydantic import SecretStr

from agents.errors import ConfigError
from app.cli.terminal import say

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.registration.browser_flow import RegistrationRequest
    from app.registration.conversion import Registered

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

LARGEST_FILE = 64 * 1024
_APP_ID = re.compile(r"[A-Za-z0-9.]{1,40}")


@dataclass(frozen=True)
class Existing:
    """What the command line says about an App that is there already."""

    app_id: str | None
    key_file: Path | None
    secret_file: Path | None


async def import_app(
    settings: Settings, wanted: RegistrationRequest, given: Existing, *, replace: bool
) -> Registered:
    """Keep the App's secrets once GitHub has said that it knows the App."""
    from app.registration.conversion import adopt
    from app.registration.register import KeptCredentials, keep
    from app.sandbox.path_permissions import make_data_folder

    app_id = (given.app_id or _prompt("The App's id", "--app-id")).strip()
    if not _APP_ID.fullmatch(app_id):
        raise ConfigError("That is no id of an App. Take the App ID from the App's page.")
    file = given.key_file or Path(_prompt("The file with its private key", "--key-file"))
    key = key_in(file.expanduser())
    secret = _webhook_secret(given.secret_file)
    make_data_folder(settings.data_dir)
    made = await adopt(wanted.urls, app_id, key)
    keep(settings.data_dir, wanted, KeptCredentials(app_id, key, secret), replace=replace)
    say(f"The key is kept. Once `fettle doctor` is content, delete your copy: `{file}`.")
    return made


def _prompt(question: str, option: str, *, hidden: bool = False) -> str:
    if not sys.stdin.isatty():
        raise ConfigError(f"There is no terminal to ask at: give {option}.")
    return str(typer.prompt(question, hide_input=hidden, err=True))


def key_in(file: Path) -> SecretStr:
    """Return the private key that the file holds. Raises ConfigError."""
    from app.config.values import parse_key

    try:
        return parse_key(SecretStr(_text(file)))
    except ValueError as error:
        raise ConfigError(f"What is in `{file}` {error}.") from None


def _webhook_secret(file: Path | None) -> SecretStr:
    if file is None:
        text = _prompt("Its webhook secret (not shown)", "--webhook-secret-file", hidden=True)
    else:
        text = _text(file.expanduser())
    text = text.strip("\r\n")
    if not text.strip() or not text.isprintable():
        raise ConfigError(
            "The webhook secret has to be one line that is not empty: without one anybody could "
            "send deliveries. Set one on the App's page."
        )
    return SecretStr(text)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(LARGEST_FILE).decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"`{file}` is not a text file.") from None
    except OSError as error:
        raise ConfigError(f"`{file}` cannot be read: {error.strerror}.") from None
