"""GitHub's log of webhook deliveries of the App, and asking for a redelivery.

https://docs.github.com/rest/apps/webhooks
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from app.github.transport.app_client import AppClient
from app.records.deliveries import Attempt

LOG = "/app/hook/deliveries{?per_page,cursor}"
ONE = "/app/hook/deliveries/{delivery_id}"
AGAIN = "/app/hook/deliveries/{delivery_id}/attempts"
PER_PAGE = 100
WINDOW = 3 * 86_400.0
"""Seconds for which github.com keeps a delivery; Enterprise Servers may keep one longer."""


class DeliveryPage(NamedTuple):
    """A part of the log, newest first."""

    attempts: list[Attempt]
    cursor: str
    """The cursor of the next, older page; empty: there is none."""


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: int
    guid: str
    delivered_at: AwareDatetime
    redelivery: bool
    status_code: int
    event: str
    action: str | None = None
    repository_id: int | None = None


class AppDeliveries:
    """Reads the log and asks for redeliveries; a delivery that arrives twice is kept once."""

    def __init__(self, app: AppClient) -> None:
        self._app = app

    async def page(self, cursor: str = "") -> DeliveryPage:
        """Return the newest attempts, or the attempts from `cursor` on.

        Successful ones are read too: GitHub's filter for failures leaves out attempts without an
        answer.
        https://docs.github.com/rest/apps/webhooks#list-deliveries-for-an-app-webhook
        """
        asked = {"per_page": str(PER_PAGE), **({"cursor": cursor} if cursor else {})}
        items, more = await self._app.page(LOG, asked)
        attempts = [attempt for item in items if (attempt := _attempt(item)) is not None]
        return DeliveryPage(attempts, _cursor_of(more))

    async def pages(self, most: int) -> AsyncIterator[list[Attempt]]:
        """Yield at most so many pages, newest first."""
        cursor = ""
        for _ in range(most):
            attempts, cursor = await self.page(cursor)
            yield attempts
            if not cursor:
                return

    async def redeliver(self, delivery_id: int) -> None:
        """Have GitHub redeliver it under the same GUID.

        https://docs.github.com/rest/apps/webhooks#redeliver-a-delivery-for-an-app-webhook
        """
        await self._app.request("POST", AGAIN, url_vars={"delivery_id": str(delivery_id)})

    async def answer(self, delivery_id: int) -> str:
        """Return the body of the server's answer to this attempt."""
        found = await self._app.request("GET", ONE, url_vars={"delivery_id": str(delivery_id)})
        said = (found.get("response") or {}).get("payload")
        return said if isinstance(said, str) else ""


def _attempt(item: Mapping[str, Any]) -> Attempt | None:
    """Return an attempt; None for one of a shape that nobody knows, so that it stops no other."""
    try:
        told = _Item.model_validate(item)
    except ValidationError:
        return None
    return Attempt(
        delivery_id=told.id,
        guid=told.guid,
        event=told.event,
        action=told.action or "",
        repository_id=told.repository_id,
        ok=200 <= told.status_code < 300,
        repeated=told.redelivery,
        at=told.delivered_at.timestamp(),
        status=told.status_code,
    )


def _cursor_of(more: str | None) -> str:
    return parse_qs(urlsplit(more or "").query).get("cursor", [""])[0]
