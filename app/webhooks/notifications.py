"""Route each kind of notification from GitHub to the object that handles it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import structlog

from agents.errors import RunError
from agents.ports import Json
from handlers.notifications import Notification

log = structlog.get_logger()


class NotificationHandler(Protocol):
    """Handles one kind of notification. The same one may come again after a crash."""

    async def take(self, notice: Any, ident: str) -> Json:
        """Handle the notification; return the result, for the record.

        `ident` is the notification's id, the same on each try. Raises TransientError to have it
        delivered again later.
        """
        ...


class NotificationRouter:
    """Hands each notification to the handler of its kind."""

    def __init__(self, takers: Mapping[type[Any], NotificationHandler]) -> None:
        self._takers = takers

    async def take(self, notice: Notification, ident: str) -> Json:
        """Have the notification handled; a final refusal of GitHub's is only recorded."""
        try:
            became = await self._takers[type(notice)].take(notice, ident)
        except RunError as error:
            became = {"failed": str(error)}
        log.info("notice", kind=notice.kind, became=became)
        return became
