"""Compare the stored installations with GitHub's list, at the start and each hour.

The list of installations is short, and shows most changes: new, gone, suspended, granted. The
repositories of an installation are read only when the stored list is a day old or has changed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import structlog

from agents.errors import RunError
from app.github.transport.app_installations import AppInstallations
from app.installations.sync import InstallationSync
from app.records.installations import KnownInstallation
from app.store.installations import StoredInstallations
from app.store.schedule_leases import PassLock

NAME = "installations"
EVERY = 3600
DAY = 86_400.0
MOST = 100
"""Installations whose repositories one pass reads; the longest unread come first."""

log = structlog.get_logger()


class Reconciliation:
    """One pass compares every installation."""

    def __init__(
        self,
        github: AppInstallations,
        stored: StoredInstallations,
        followed: InstallationSync,
        turn: PassLock,
    ) -> None:
        self._github = github
        self._stored = stored
        self._followed = followed
        self._turn = turn

    async def run(self) -> None:
        """Make one pass, unless one is under way in this process or another."""
        await self._turn.take(self._pass)

    async def _pass(self) -> None:
        began = time.time()
        known = {each.id: each for each in await self._stored.installations()}
        found = [each async for each in self._github.list_installations()]
        for ident in known.keys() - {each.id for each in found}:
            await self._look(ident, known[ident].account)  # pages shift while they are read
        due = [each for each in found if _is_due(each, known, began)]
        due.sort(key=lambda each: known[each.id].synced_at if each.id in known else 0.0)
        for each in due[:MOST]:
            try:
                await self._tell(each.id, each.account, await self._followed.record_found(each))
            except RunError as error:
                log.warning("installation not read", account=each.account, reason=str(error))

    async def _look(self, ident: int, account: str) -> None:
        try:
            await self._tell(ident, account, await self._followed.installation(ident))
        except RunError as error:
            log.warning("installation not read", account=account, reason=str(error))

    async def _tell(self, ident: int, account: str, became: Mapping[str, object]) -> None:
        log.info("installation followed", installation=ident, account=account, **became)


def _is_due(now: KnownInstallation, known: Mapping[int, KnownInstallation], at: float) -> bool:
    """Tell whether something has changed, or nobody has looked closely for a day."""
    before = known.get(now.id)
    if before is None:
        return True
    said = (now.account, now.url, dict(now.permissions), now.suspended_at is None)
    kept = (before.account, before.url, dict(before.permissions), before.suspended_at is None)
    return said != kept or (now.suspended_at is None and at - before.synced_at > DAY)
