"""The command `fettle page`: a code with which an operator logs in to the pages."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from agents.errors import ConfigError
from app.cli.terminal import say

if TYPE_CHECKING:
    from app.config.settings import Settings

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

OFF = (
    "The pages are off. Start `fettle serve` with FETTLE_PAGES=operators, and give this command the"
    " same variables."
)


def page() -> None:
    """Print where the pages are, and a code."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    if settings.pages == "off":
        raise ConfigError(OFF)
    code = asyncio.run(_make_code(settings))
    address = settings.pages_url or f"http://{settings.pages_host}:{settings.pages_port}"
    say(f"Open {address}/login and type this code, within ten minutes. It counts once.")
    typer.echo(code)


async def _make_code(settings: Settings) -> str:
    from app.cli.storage.databases import known_places, open_database
    from app.config.system_user import find_operator
    from app.store.pages.logins import PageLogins

    served = [place for place in known_places(settings) if not place.clone]
    if not served:
        raise ConfigError("There is no server's database yet. Start `fettle serve` first.")
    with open_database(served[0]) as database:
        return await PageLogins(database).make_code(find_operator())
