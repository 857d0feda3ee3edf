"""What every command does at a terminal: tell people, stop, and its exit codes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.secrets.redaction import Redactor

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick


DONE, FAILED, PERSON, STOPPED = 0, 1, 2, 130


def say(text: str) -> None:
    """Tell people something that is not the result."""
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
    """Return a redactor that knows the secrets that this process was given."""
    from pydantic import SecretStr
    from sqlalchemy import make_url

    from app.config.values import parse_key
    from app.network.outbound import HttpProxy
    from app.secrets.redaction import Redactor

    given = [settings.anthropic_api_key, settings.anthropic_auth_token, settings.private_key]
    given += [*settings.webhook_secrets, *settings.encryption_keys, settings.client_secret]
    secrets = [value.get_secret_value() for value in given if value is not None]
    if settings.database_url is not None:
        secrets.append(make_url(settings.database_url.get_secret_value()).password or "")
    for header in settings.otlp_headers.values():  # whole, and what stands behind `Bearer`
        secrets += [header.get_secret_value(), *header.get_secret_value().split()]
    for proxy in (settings.https_proxy, settings.http_proxy):
        if proxy is not None:
            secrets.append(HttpProxy.parse(proxy.get_secret_value()).password)
    if settings.private_key_file is not None:
        key = parse_key(SecretStr(settings.private_key_file.read_text()))
        secrets.append(key.get_secret_value())
    return Redactor(secrets)
