"""Have GitHub deliver one delivery again, and see what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from app.github.transport.app_deliveries import AppDeliveries
from app.records.deliveries import Attempt

MOST_PAGES = 200
LOOKS = 20
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Redelivered:
    """What GitHub knows of a delivery after it was asked to deliver it again."""

    attempts: tuple[Attempt, ...]
    """Those from before, newest first; none: GitHub has no such delivery any more."""
    new: Attempt | None = None
    answer: str = ""
    """What was answered to the new one."""


async def redeliver(
    log: AppDeliveries,
    guid: str,
    *,
    on_found: Callable[[tuple[Attempt, ...]], None] = lambda _attempts: None,
) -> Redelivered:
    """Ask for it, and wait a little for the new attempt to show in the log."""
    known = tuple(await _attempts(log, guid, MOST_PAGES))
    if not known:
        return Redelivered(known)
    on_found(known)
    await log.redeliver(known[0].delivery_id)
    for _ in range(LOOKS):
        await asyncio.sleep(LOOK_SECONDS)
        newest = await _attempts(log, guid, 1)
        if newest and newest[0].delivery_id not in {each.delivery_id for each in known}:
            return Redelivered(known, newest[0], await log.answer(newest[0].delivery_id))
    return Redelivered(known)


async def _attempts(log: AppDeliveries, guid: str, pages: int) -> list[Attempt]:
    """Return the attempts of the first page that has any, newest first."""
    async for page in log.pages(pages):
        if found := [each for each in page if each.guid == guid]:
            return found
    return []
