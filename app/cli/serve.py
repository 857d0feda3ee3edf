"""The command `fettle serve`: the server, and what stands in for it until there is an App."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from app.cli.terminal import PERSON, redactor_of, say, stop_event

if TYPE_CHECKING:
    from app.config.settings import AppNotConfigured, Settings

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

M_ARENA_MAX = -8  # of malloc.h
OFTEN = (700, 10, 10)
"""Objects between two looks for garbage, as Python has them: a server at rest has 10 MiB less of
it than with what is well for a command's imports."""


def serve() -> None:
    """Serve webhooks until told to stop."""
    from app.config.settings import AppNotConfigured, load_settings

    try:
        settings = load_settings()
    except AppNotConfigured as nothing:
        _wait_for_app(nothing)
        settings = load_settings()

    _share_one_arena()
    # These take seconds: a mistake is told before.
    with _hide_rich():
        from app.observability.logging import configure_logging
        from app.wiring.serve import serve as serving

    gc.set_threshold(*OFTEN)
    redactor = redactor_of(settings)
    configure_logging(style=settings.log_format, level=settings.log_level, cleaner=redactor)

    async def until_stopped() -> None:
        await serving(settings, redactor, stop_event())

    asyncio.run(until_stopped())


@contextmanager
def _hide_rich() -> Iterator[None]:
    """Have structlog take it that there is no rich, for tracebacks in colours: it is 4 MiB.

    https://docs.python.org/3/reference/import.html#the-module-cache
    """
    missing: dict[str, Any] = {"rich": None} if "rich" not in sys.modules else {}
    sys.modules.update(missing)
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


def _share_one_arena() -> None:
    """Have all threads allocate from one arena; glibc gives each its own, and frees them seldom.

    It saves 5 MiB of a server at rest. https://man7.org/linux/man-pages/man3/mallopt.3.html
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 1)


def _wait_for_app(nothing: AppNotConfigured) -> None:
    """Return once an App is set up; end the process, as one that never served, when stopped."""
    say(
        "Fettle has no GitHub App yet, so it takes no webhooks. Run `fettle setup`, as this user "
        f"and with the same data folder (`{nothing.settings.data_dir}`): this server then goes on "
        f"by itself. Or stop it and set the variables.\n{nothing}"
    )
    if not asyncio.run(_watch_for_app(nothing.settings)):
        say("Stopped, without having served.")
        sys.exit(PERSON)
    say("An App is set up.")


async def _watch_for_app(settings: Settings) -> bool:
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
