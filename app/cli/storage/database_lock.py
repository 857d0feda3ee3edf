"""Hold a database while an operator changes what is stored, whether a server is at work or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from enum import Enum
from typing import TYPE_CHECKING

from agents.errors import ConfigError

if TYPE_CHECKING:
    from app.cli.storage.databases import RunDatabase
    from app.config.settings import Settings
    from app.store.database import Database
    from app.store.process_lock import Claim

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick


class Rewritten(Enum):
    """What became of a file after something in it was deleted, or stored otherwise."""

    WHOLE = "whole"
    LATER = "later"
    """It would take long, and a server has to write: its log alone was emptied."""
    BUSY = "busy"


@asynccontextmanager
async def hold_database(
    settings: Settings, place: RunDatabase
) -> AsyncIterator[tuple[Database, bool]]:
    """Hold a database, up to date, and tell whether nobody else is at work on it."""
    from app.cli.storage.databases import open_database
    from app.store.encryption.keys import list_workers
    from app.store.process_lock import Claim

    claim = Claim(place.url, settings.worker, patience=0)
    alone = await _is_taken(claim)
    try:
        with open_database(place) as database:
            await asyncio.to_thread(database.migrate)
            if alone and not place.url.startswith("sqlite"):  # others, under other names, share it
                others = set(await database.read(list_workers)) - {settings.worker}
                yield database, not await at_work(place, others)
            else:
                yield database, alone
    finally:
        if alone:
            await claim.release()


async def at_work(place: RunDatabase, workers: Iterable[str]) -> list[str]:
    """Return those of these workers that are at work on the database now."""
    from app.store.process_lock import Claim

    busy = []
    for worker in sorted(workers):
        claim = Claim(place.url, worker, patience=0)
        if await _is_taken(claim):
            await claim.release()
        else:
            busy.append(worker)
    return busy


async def _is_taken(claim: Claim) -> bool:
    try:
        await claim.take()
    except ConfigError:
        return False
    return True


async def rewrite_database(database: Database, *, alone: bool) -> Rewritten:
    """Make the file anew without what was in it; beside a server that must not take long."""
    from app.store.database import SOON

    _, size = await database.slack()
    rewrite = alone or size <= SOON
    if not await database.compact(rewrite=rewrite):
        return Rewritten.BUSY
    return Rewritten.WHOLE if rewrite else Rewritten.LATER
