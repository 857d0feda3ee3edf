"""Where a person sits who has alerts scanned or mended: what they want, see, and how they leave."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rich.console import Console

from app.cli.progress import TerminalProgress
from app.cli.terminal import stop_event
from app.config.settings import Settings
from app.operator.remediation_requests import RemediationOptions
from app.secrets.redaction import Redactor

T = TypeVar("T")

LONG = 300  # characters of a line for people


class Interrupted(Exception):
    """The person at the terminal wants to leave."""


@dataclass(frozen=True)
class SessionOptions:
    """What is asked for."""

    asked: RemediationOptions
    model: str = ""
    """The model that writes code, in the place of the one in the settings."""
    machine_readable: bool = False
    """A program reads the result: nobody is asked anything."""


@dataclass
class TerminalSession:
    """Where the person sits: what they want, what they see, and that they may leave."""

    settings: Settings
    redactor: Redactor
    wanted: SessionOptions
    here: bool = False
    """Whether this process does the work; else a server does."""
    stop: asyncio.Event = field(init=False)
    """Set when they want to leave."""
    _progress: TerminalProgress | None = None

    def __post_init__(self) -> None:
        """Listen from now on."""
        self.stop = stop_event(self.announce_stop)

    def progress(self) -> TerminalProgress:
        """Return the place where the next run is shown."""
        self._progress = TerminalProgress(Console(stderr=True))
        return self._progress

    def with_model(self) -> Settings:
        """Return the settings with the model that was asked for."""
        chosen = {"model": self.wanted.model} if self.wanted.model else {}
        return self.settings.model_copy(update=chosen)

    def announce_stop(self) -> None:
        """Say that it will stop soon."""
        if self._progress is not None and self.here:
            self._progress.announce_stop()
        self.leave()

    def leave(self) -> None:
        """Show nothing more."""
        if self._progress is not None:
            self._progress.end("stopped")

    async def unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the work does. Raises Interrupted as soon as the person wants to leave."""
        working, stopping = asyncio.create_task(work), asyncio.create_task(self.stop.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise Interrupted
        finally:
            working.cancel()
            stopping.cancel()
