"""The command `fettle setup`: from nothing to a GitHub App whose secrets are kept."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.errors import ConfigError
from app.cli.setup.import_app import Existing, import_app
from app.cli.terminal import say, stop_event
from app.config.values import CALLBACK
from app.views.text import to_line

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.registration.browser_flow import BrowserFlow, RegistrationRequest
    from app.registration.conversion import Registered

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

LONGEST_NAME = 34
SIGN_IN = (
    "With FETTLE_PAGES=people, people can sign in to the pages with it: what that takes is kept,"
    " too."
)
SIGN_IN_LATER = (
    "So that people can sign in to the pages with it, make a client secret on the App's page at"
    f" GitHub and enter the pages' address with {CALLBACK} as callback address; then set"
    " FETTLE_CLIENT_ID, FETTLE_CLIENT_SECRET and FETTLE_PAGES=people."
)
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,98})")

WebhookUrl = Annotated[
    str | None,
    typer.Option("--webhook-url", metavar="URL", help="Where GitHub reaches this server."),
]
PagesUrl = Annotated[
    str | None,
    typer.Option("--pages-url", metavar="URL", help="Where people will sign in to the pages."),
]


def setup(
    *,
    org: Annotated[
        str | None, typer.Option("--org", metavar="NAME", help="Who owns the App, if not you.")
    ] = None,
    github_url: Annotated[
        str | None, typer.Option("--github-url", metavar="URL", help="Your GitHub's start page.")
    ] = None,
    webhook_url: WebhookUrl = None,
    pages_url: PagesUrl = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="The App's name, as proposed.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page here; 0 takes any.")
    ] = 0,
    existing: Annotated[
        bool, typer.Option("--import", help="Take an App that is there already.")
    ] = False,
    app_id: Annotated[
        str | None, typer.Option("--app-id", metavar="ID", help="With --import: the App's id.")
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", metavar="FILE", help="With --import: its private key."),
    ] = None,
    webhook_secret_file: Annotated[
        Path | None,
        typer.Option("--webhook-secret-file", metavar="FILE", help="With --import: its secret."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Move an App aside that is set up here already.")
    ] = False,
) -> None:
    """Set the App up."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    _require_room(settings, replace=replace)
    given = Existing(app_id, key_file, webhook_secret_file)
    if not existing and given != Existing(None, None, None):
        raise ConfigError("--app-id, --key-file and --webhook-secret-file go with --import.")
    addresses = {"--github-url": github_url, "--webhook-url": webhook_url, "--pages-url": pages_url}
    wanted = _read_wish(settings, org, name, addresses, ask=not existing)
    if existing:
        made = asyncio.run(import_app(settings, wanted, given, replace=replace))
    else:
        made = asyncio.run(_register(settings, wanted, replace=replace, port=port))
    _tell(settings, wanted, made)
    _offer_model_key(settings)


def _require_room(settings: Settings, *, replace: bool) -> None:
    """Raise ConfigError when what is written would not count, or would be written over."""
    from app.config.settings import process_environment
    from app.secrets.files import CREDENTIALS, app_folder, describe_existing_app

    variables = process_environment()
    if standing := [name for name in CREDENTIALS if variables.get(name, "").strip()]:
        raise ConfigError(
            f"{standing[0]} is set. A variable wins over what `fettle setup` would write, so that "
            f"would change nothing. Take away {', '.join(standing)} first, wherever the server "
            "gets them from; or leave all as it is: `fettle doctor` tells whether it is right."
        )
    folder = app_folder(settings.data_dir)
    if (folder.exists() or folder.is_symlink()) and not replace:
        raise ConfigError(describe_existing_app(settings.data_dir))


# --- what is wanted -----------------------------------------------------------------------------


def _read_wish(
    settings: Settings,
    org: str | None,
    name: str | None,
    addresses: Mapping[str, str | None],
    *,
    ask: bool,
) -> RegistrationRequest:
    from app.github.transport import Urls
    from app.registration.browser_flow import RegistrationRequest

    _require_agreement(settings, addresses)
    if org is not None and not _LOGIN.fullmatch(org):
        raise ConfigError("--org is no name of an organization. Give it as it is in addresses.")
    if name is not None and not (name.isprintable() and 0 < len(name.strip()) <= LONGEST_NAME):
        raise ConfigError(f"--name takes up to {LONGEST_NAME} characters in one line.")
    urls = Urls.from_web_url(addresses["--github-url"] or settings.github_url, settings.outbound)
    hook = _check_hook(addresses["--webhook-url"]) or settings.webhook_url
    if hook is None and ask:
        hook = _ask_hook()
    if hook and hook.startswith("http://") and not urls.web.startswith("http://"):
        raise ConfigError(
            "The webhook URL must begin with https://: what GitHub sends there is what private "
            "repositories hold. deploy/README.md has proxies that bring a certificate."
        )
    pages = _check_pages(addresses["--pages-url"]) or settings.pages_url or ""
    return RegistrationRequest(urls, hook or "", org, name, pages)


def _require_agreement(settings: Settings, addresses: Mapping[str, str | None]) -> None:
    """Raise ConfigError when a variable would win over what the command line says."""
    from app.config.settings import process_environment

    variables = process_environment()
    for option, name, standing in (
        ("--github-url", "FETTLE_GITHUB_URL", settings.github_url),
        ("--webhook-url", "FETTLE_WEBHOOK_URL", settings.webhook_url),
        ("--pages-url", "FETTLE_PAGES_URL", settings.pages_url),
    ):
        given = addresses[option]
        if given and variables.get(name) and given.rstrip("/") != (standing or "").rstrip("/"):
            raise ConfigError(f"{option} and {name} disagree, and the variable would win.")


def _ask_hook() -> str:
    if not sys.stdin.isatty():
        raise ConfigError(
            "Where does GitHub reach this server? Give --webhook-url, like "
            "https://fettle.example.com/webhook."
        )
    while True:
        said = typer.prompt(
            "Where will GitHub reach this server, like https://fettle.example.com/webhook", err=True
        )
        try:
            if hook := _check_hook(said):
                return hook
        except ConfigError as error:
            say(str(error))


def _check_hook(text: str | None) -> str | None:
    from app.config.values import webhook_address

    try:
        return webhook_address(text)
    except ValueError as error:
        raise ConfigError(f"The webhook URL {error}.") from None


def _check_pages(text: str | None) -> str | None:
    from app.config.values import web_address

    try:
        return web_address(text)
    except ValueError as error:
        raise ConfigError(f"The address of the pages {error}.") from None


# --- a new App ----------------------------------------------------------------------------------


async def _register(
    settings: Settings, wanted: RegistrationRequest, *, replace: bool, port: int
) -> Registered:
    from app.registration.register import register as registering
    from app.sandbox.path_permissions import make_data_folder

    make_data_folder(settings.data_dir)
    return await registering(
        wanted, settings.data_dir, stop_event(), _show_way, replace=replace, port=port
    )


def _show_way(door: BrowserFlow) -> None:
    from app.registration.register import MINUTES

    say(
        f"Open this in a browser on this machine, within {MINUTES:.0f} minutes:\n\n  {door.url}\n\n"
        "Is the browser on another machine? There, first run this with this server's name, and "
        f"leave it running:\n\n  ssh -N -L {door.port}:127.0.0.1:{door.port} SERVER\n"
    )


# --- what is told -------------------------------------------------------------------------------


def _tell(settings: Settings, wanted: RegistrationRequest, made: Registered) -> None:
    from app.registration.conversion import Converted
    from app.secrets.files import app_folder

    say(
        f"The App {to_line(made.name, 60)} (id {made.id}) is set up. Its key and its webhook "
        f"secret are in `{app_folder(settings.data_dir)}`.\n"
        "Install it on repositories with the link below; then run `fettle doctor` and "
        "`fettle serve`."
    )
    if wanted.pages_url:
        kept = isinstance(made, Converted) and made.for_sign_in
        say(SIGN_IN if kept else SIGN_IN_LATER)
    typer.echo(made.install_link(wanted.urls))


def _offer_model_key(settings: Settings) -> None:
    """Take the model's key as well, from whoever sits at the terminal and has none set."""
    from app.config.model_access import can_ask
    from app.secrets.files import keep_alone

    if settings.models == "none" or can_ask(settings) or not sys.stdin.isatty():
        return
    text = typer.prompt(
        "A key for the Messages API (not shown; Enter to set ANTHROPIC_API_KEY yourself)",
        default="",
        show_default=False,
        hide_input=True,
        err=True,
    ).strip()
    if text:
        where = keep_alone(settings.data_dir, "ANTHROPIC_API_KEY", text)
        say(f"It is in `{where}`.")
