"""What every command does at a terminal: tell people, stop, and its exit codes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.secrets.redaction import Redactor

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick


DONE, FAILED, PERSON, STOPPED = 0, 1, 2, 130

WITH_A_PASSWORD = frozenset(("database_url", "http_proxy", "https_proxy"))
"""Settings that are secret for the password in them; the rest of the address may be told."""


def say(text: str) -> None:
    """Tell people something that is not the result."""
    from rich.console import Console

    Console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)


def stop_event(on_first: Callable[[], None] = lambda: None) -> asyncio.Event:
    """Return an event that SIGINT or SIGTERM sets; a second one ends the process at once.

    That loses nothing: all of Fettle goes on after a kill.
    """
    stop = asyncio.Event()

    def handle_signal() -> None:
        if stop.is_set():
            os._exit(STOPPED)
        stop.set()
        on_first()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, handle_signal)
    return stop


def redactor_of(settings: Settings) -> Redactor:
    """Return a redactor that knows every secret of the settings, whichever field has it."""
    from pydantic import SecretStr
    from sqlalchemy import make_url

    from app.config.values import parse_key
    from app.network.outbound import HttpProxy
    from app.secrets.redaction import Redactor

    fields = type(settings).model_fields.keys() - WITH_A_PASSWORD
    secrets = [each for name in fields for each in _list_secrets(getattr(settings, name))]
    if settings.database_url is not None:
        secrets.append(make_url(settings.database_url.get_secret_value()).password or "")
    proxies = [each for each in (settings.https_proxy, settings.http_proxy) if each is not None]
    secrets += [HttpProxy.parse(proxy.get_secret_value()).password for proxy in proxies]
    if settings.private_key_file is not None:
        key = parse_key(SecretStr(settings.private_key_file.read_text()))
        secrets.append(key.get_secret_value())
    return Redactor(secrets)


def _list_secrets(value: object) -> Iterator[str]:
    from pydantic import SecretStr

    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, tuple):
        for each in value:
            yield from _list_secrets(each)
    elif isinstance(value, dict):  # of headers: whole, and what stands behind `Bearer`
        for text in (text for each in value.values() for text in _list_secrets(each)):
            yield from (text, *text.split())
