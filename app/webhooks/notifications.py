"""Route each kind of notification from GitHub to the object that handles it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import structlog

from agents.errors import RunError
from agents.ports import Json
from handlers.notifications import Notice

log = structlog.get_logger()


class NotificationHandler(Protocol):
    """Takes notices of one kind. The same one may come again after a crash."""

    async def take(self, notice: Any, ident: str) -> Json:
        """Follow it, and return what became of it, for the record.

        `ident` is its own, the same each time. Raises TransientError: then it comes again later.
        """
        ...


class NotificationRouter:
    """Hands each notice to who takes its kind."""

    def __init__(self, takers: Mapping[type[Any], NotificationHandler]) -> None:
        self._takers = takers

    async def take(self, notice: Notice, ident: str) -> Json:
        """Have it taken; what GitHub refuses for good is noted, nobody waits for it."""
        try:
            became = await self._takers[type(notice)].take(notice, ident)
        except RunError as error:
            became = {"failed": str(error)}
        log.info("notice", kind=notice.kind, became=became)
        return became
