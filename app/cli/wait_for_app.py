"""`fettle serve` without an App: say so here and at `/`, until `fettle setup` is done."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from app.cli.exit_codes import PERSON, say, stop_event

if TYPE_CHECKING:
    from app.config.settings import AppNotConfigured, Settings

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick


def for_app(nothing: AppNotConfigured) -> None:
    """Return once an App is set up; end the process, as one that never served, when stopped."""
    say(
        "Fettle has no GitHub App yet, so it takes no webhooks. Run `fettle setup`, as this user "
        f"and with the same data folder (`{nothing.settings.data_dir}`): this server then goes on "
        f"by itself. Or stop it and set the variables.\n{nothing}"
    )
    if not asyncio.run(_waited(nothing.settings)):
        say("Stopped, without having served.")
        sys.exit(PERSON)
    say("An App is set up.")


async def _waited(settings: Settings) -> bool:
    from app.secrets.files import app_folder
    from app.webhooks.setup_page import wait_for_app

    folder = app_folder(settings.data_dir)
    return await wait_for_app(
        settings.host,
        settings.port,
        stop_event(),
        look=folder.is_dir,
        listening=lambda address: say(f"Until then {address}/ says so too."),
    )
