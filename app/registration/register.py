"""Register a new GitHub App through the operator's browser, and store its credentials."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from agents.errors import Cancelled, ConfigError, RunError
from app.registration.browser_flow import BrowserFlow, RegistrationRequest, open_door
from app.registration.conversion import SPENT, Registered, convert
from app.secrets.files import keep_app, require_room

MINUTES = 15.0
BUSY_SECONDS = 120.0


async def register(
    wanted: RegistrationRequest,
    data_dir: Path,
    stop: asyncio.Event,
    opened: Callable[[BrowserFlow], None],
    *,
    replace: bool = False,
    port: int = 0,
    minutes: float = MINUTES,
) -> Registered:
    """Return the new App once its secrets are in files; `opened` is told the page to visit.

    Raises ConfigError when the files cannot be written, RunError when nobody came in time,
    Cancelled when `stop` was set.
    """

    async def finish(code: str) -> Registered:
        made = await convert(wanted.urls, code)
        given = KeptCredentials(str(made.id), made.pem, made.webhook_secret, made.for_sign_in)
        try:
            keep(data_dir, wanted, given, replace=replace)
        except (ConfigError, OSError) as error:
            said = str(error).removesuffix(".")
            raise ConfigError(f"What GitHub gave out is not kept: {said}. {SPENT}") from error
        return made

    require_room(data_dir)
    async with open_door(wanted, finish, port=port) as door:
        opened(door)
        return await _wait_for_registration(door, stop, minutes)


@dataclass(frozen=True)
class KeptCredentials:
    """What is written of an App."""

    app_id: str
    key: SecretStr
    webhook_secret: SecretStr
    for_sign_in: Mapping[str, str] = field(default_factory=dict)
    """By variable; empty: people cannot sign in with it yet."""


def keep(
    data_dir: Path, wanted: RegistrationRequest, given: KeptCredentials, *, replace: bool
) -> None:
    """Write the App's credentials. Raises ConfigError when there are some already."""
    values = {
        "FETTLE_APP_ID": given.app_id,
        "FETTLE_PRIVATE_KEY": given.key.get_secret_value(),
        # As a list, for whatever is in it: commas part secrets otherwise.
        "FETTLE_WEBHOOK_SECRETS": json.dumps([given.webhook_secret.get_secret_value()]),
        "FETTLE_GITHUB_URL": wanted.urls.web,
    }
    if wanted.webhook_url:
        values["FETTLE_WEBHOOK_URL"] = wanted.webhook_url
    if wanted.pages_url:
        values |= {"FETTLE_PAGES_URL": wanted.pages_url, **given.for_sign_in}
    keep_app(data_dir, values, replace=replace)


async def _wait_for_registration(
    door: BrowserFlow, stop: asyncio.Event, minutes: float
) -> Registered:
    stopping = asyncio.create_task(stop.wait())
    either: set[asyncio.Future[Any]] = {stopping, door.done}
    try:
        await asyncio.wait(either, timeout=minutes * 60, return_when=asyncio.FIRST_COMPLETED)
        if door.busy:  # somebody came in the last moment: what GitHub gives out, it gives once
            await asyncio.wait({door.done}, timeout=BUSY_SECONDS)
    finally:
        stopping.cancel()
    if door.done.done():
        return door.done.result()
    door.done.cancel()
    if stop.is_set():
        raise Cancelled
    raise RunError(
        f"Nobody registered an App within {minutes:.0f} minutes, so the page is closed. Nothing "
        "was changed. Run `fettle setup` again."
    )
