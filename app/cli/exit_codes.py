"""What every command has in common: exit codes, words for people, the way to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

from rich.console import Console

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
