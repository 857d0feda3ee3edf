"""The commands `fettle rotate-secret` and `fettle rotate-key`: replace what proves who we are."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from agents.errors import ConfigError
from app.cli.setup.import_app import LARGEST_FILE, key_in
from app.cli.terminal import redactor_of, say

if TYPE_CHECKING:
    from pydantic import SecretStr

    from app.config.settings import Settings

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

BY_HAND = """\
The webhook secret comes from a variable, FETTLE_WEBHOOK_SECRETS, and this command cannot write
where that comes from. Nothing was changed. To replace it without losing a delivery:

1. Make one: openssl rand -hex 32
2. Put it in front of the old one, with a comma between, wherever the server gets the variable (the
   file of that name, if deploy/with_secrets.py reads it). Restart every server.
3. Run `fettle rotate-secret --tell` with the same settings: GitHub signs with the first one.
4. After {days:.0f} days take the old one out, and restart every server."""
SEVERAL = (
    "Other servers share the database ({others}), and each has files of its own: they would refuse"
    " what is signed with the new secret. Nothing was changed. Give all of them the secrets by"
    " FETTLE_WEBHOOK_SECRETS, or by deploy/with_secrets.py; then this command says how to go on."
)
KEY_BY_HAND = (
    "GitHub accepts this key. The old one comes from {variable}, where this command cannot write:"
    " put the new one there, restart every server, run `fettle doctor`; then delete the old one"
    " ({old}) on the App's page."
)


def rotate_secret(
    *,
    finish: Annotated[
        bool, typer.Option("--finish", help="Stop accepting the old secret now.")
    ] = False,
    tell: Annotated[
        bool, typer.Option("--tell", help="Only tell GitHub the first secret of the variable.")
    ] = False,
) -> None:
    """Replace the webhook secret."""
    from app.config.settings import load_settings

    if finish and tell:
        raise ConfigError("--finish and --tell are two steps: one at a time.")
    settings = load_settings(serving=False)
    variable = _variable()
    if finish:
        _finish(settings, variable)
    elif tell:
        asyncio.run(_tell(settings, variable))
    else:
        asyncio.run(_rotate(settings, variable))


def rotate_key(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The new key.")],
) -> None:
    """Replace the App's private key."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    asyncio.run(_replace_key(settings, _new_key(file)))


def _variable() -> str | None:
    """Return the variable that has the App's files left unread, if one is set."""
    from app.config.settings import process_environment
    from app.secrets.files import CREDENTIALS

    variables = process_environment()
    return next((name for name in CREDENTIALS if variables.get(name, "").strip()), None)


# --- the webhook secret -------------------------------------------------------------------------


async def _rotate(settings: Settings, variable: str | None) -> None:
    from app.github.transport import Urls
    from app.registration.replace_at_github import as_app, tell_secret, window_of
    from app.registration.rotation import format_moment, rotate

    credentials = settings.credentials
    urls = Urls.from_web_url(settings.github_url, settings.outbound)
    window = window_of(urls)
    if variable is not None:
        raise ConfigError(BY_HAND.format(days=window / 86_400))
    await _require_one_server(settings)
    redactor = redactor_of(settings)
    async with as_app(urls, credentials.app_id, credentials.private_key) as app:

        async def tell(secret: str) -> None:
            redactor.add(secret)
            await tell_secret(app, secret)

        done = await rotate(settings.data_dir, tell, window=window, now=time.time())
    say(
        "GitHub signs with a new webhook secret. A server that runs with this data folder has taken"
        f" it up by itself. The old one is accepted until {format_moment(done.until or 0)}, for"
        " what GitHub brings again; then the server drops it."
    )


async def _require_one_server(settings: Settings) -> None:
    """Raise ConfigError where servers would not know what GitHub signs with from now on."""
    from app.cli.storage.database_lock import at_work
    from app.cli.storage.databases import known_places, open_database
    from app.store.encryption.keys import list_workers

    place = next((each for each in known_places(settings) if not each.clone), None)
    if place is None or place.url.startswith("sqlite"):
        return
    with open_database(place) as database:
        others = set(await database.read(list_workers)) - {settings.worker}
    if busy := await at_work(place, others):
        raise ConfigError(SEVERAL.format(others=", ".join(busy)))


async def _tell(settings: Settings, variable: str | None) -> None:
    from app.github.transport import Urls
    from app.registration.replace_at_github import as_app, tell_secret, window_of

    credentials = settings.credentials
    urls = Urls.from_web_url(settings.github_url, settings.outbound)
    if variable is None:
        raise ConfigError("--tell is for secrets in a variable. Run `fettle rotate-secret`.")
    if len(credentials.webhook_secrets) < 2:
        raise ConfigError(
            "FETTLE_WEBHOOK_SECRETS holds one secret alone. With the new one in front and the old"
            " one behind it, deliveries that are on their way are accepted, too."
        )
    async with as_app(urls, credentials.app_id, credentials.private_key) as app:
        await tell_secret(app, credentials.webhook_secrets[0].get_secret_value())
    say(
        "GitHub signs with the first secret of FETTLE_WEBHOOK_SECRETS. After"
        f" {window_of(urls) / 86_400:.0f} days take the others out, and restart every server."
    )


def _finish(settings: Settings, variable: str | None) -> None:
    from app.registration.rotation import finish

    if variable is not None:
        raise ConfigError(
            "The secrets come from FETTLE_WEBHOOK_SECRETS: take the old ones out there, and restart"
            " every server."
        )
    dropped = finish(settings.data_dir)
    say(f"The new webhook secret alone is accepted; {dropped} older dropped.")


# --- the key ------------------------------------------------------------------------------------


def _new_key(file: str) -> SecretStr:
    from pathlib import Path

    from pydantic import SecretStr

    from app.config.values import parse_key

    if file != "-":
        return key_in(Path(file).expanduser())
    try:
        text = sys.stdin.buffer.read(LARGEST_FILE).decode("utf-8", "replace")
        return parse_key(SecretStr(text))
    except ValueError as error:
        raise ConfigError(f"What came on standard input {error}.") from None


async def _replace_key(settings: Settings, new: SecretStr) -> None:
    from app.github.transport import Urls
    from app.registration.replace_at_github import check_key, compute_fingerprint
    from app.secrets.files import keep_of_app
    from app.views.text import make_visible

    credentials = settings.credentials
    urls = Urls.from_web_url(settings.github_url, settings.outbound)
    old = credentials.private_key
    found = await check_key(urls, credentials.app_id, old, new)
    if (variable := _variable()) is not None:
        raise ConfigError(KEY_BY_HAND.format(variable=variable, old=compute_fingerprint(old)))
    keep_of_app(settings.data_dir, "FETTLE_PRIVATE_KEY", new.get_secret_value())
    say(
        f"The App {make_visible(found.name)} now uses the key {compute_fingerprint(new)}."
        " A server that runs with this data folder takes it up within seconds. Once"
        f" `fettle doctor` is content, delete the old one, {compute_fingerprint(old)}, on the App's"
        f" page: {make_visible(found.html_url)} → App settings → Private keys."
    )
