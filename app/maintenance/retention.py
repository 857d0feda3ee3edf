"""Retention: delete the texts of runs and deliveries after a set number of days, once a day."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import structlog
from sqlalchemy import Connection

from agents.errors import FettleError
from app.git import GitFailed, Mirrors, last_used, let_go, mirror_ids, remove_mirror, runs_kept
from app.git.worktree import remove_tree
from app.maintenance.clone_folders import remove_old
from app.maintenance.purge import StillLive, forget
from app.store.database import SOON, Database
from app.store.expire_rows import empty_deliveries, empty_runs, known_mirrors, live_among
from app.store.repository_rows import delete_installations, list_unreachable
from app.store.schedule_leases import PASS_SECONDS, LogPosition, PassLock, Sweeps

NAME = "retention"
EVERY = 86_400
DAY = 86_400.0
SOONEST = 0.8 * DAY
"""Seconds until a pass is made again, however often the server is started."""
MOST_PASSES = 30
"""One after the other, each of which lets others have the turn; the rest is for the next day."""
MOST_TRIES = 2
"""Tries of one mirror whose compaction takes longer than a pass may."""
SLACK_SHARE, SLACK_LEAST = 0.25, 64 * 2**20
"""From this share and these bytes on a file is rewritten without what it does not hold any more;
not one that takes long, which would keep deliveries waiting: its empty pages are used again."""

T = TypeVar("T")
log = structlog.get_logger()


class Retention:
    """Deletes old texts; runs that are under way or parked keep theirs."""

    def __init__(
        self,
        database: Database,
        mirrors: Mirrors,
        data_dir: Path,
        sweeps: Sweeps,
        *,
        days: float,
        removed_days: float,
        clock: Callable[[], float] = time.time,
        seconds: float = PASS_SECONDS,
    ) -> None:
        self._database = database
        self._mirrors = mirrors
        self._data_dir = data_dir
        self._sweeps = sweeps
        self._days = days
        self._removed_days = removed_days
        self._clock = clock
        self._turn = PassLock(sweeps, NAME, seconds)

    async def run(self) -> None:
        """Make one pass a day; a pass that ran out of time continues at once."""
        if await self._sweeps.last_pass_at(NAME) >= self._clock() - SOONEST:
            return
        for _ in range(MOST_PASSES):
            if not await self._turn.take(self._pass):
                return

    async def _pass(self) -> None:
        now = self._clock()
        if self._removed_days:
            await self._forget_removed(now - self._removed_days * DAY)
        if self._days:
            before = now - self._days * DAY
            await self._empty(before, now)
            await self._let_go(before)
            if clones := await remove_old(self._data_dir, before):
                log.info("runs on clones removed", number=clones)
        await self._give_back()

    async def _forget_removed(self, before: float) -> None:
        """Forget the repositories that the App was taken off, or shut out of, all in one go."""
        idents = await self._database.read(lambda c: list_unreachable(c, before))
        if idents:
            try:
                found = await forget(self._database, self._data_dir, idents, alone=False)
                log.info("repositories forgotten", number=len(idents), runs=found.runs)
            except StillLive:
                log.info("repositories not forgotten yet: one is at work again")
        await self._write(lambda c: delete_installations(c, before))

    async def _empty(self, before: float, now: float) -> None:
        emptied = deleted = 0
        while ids := await self._write(lambda c: empty_runs(c, before, now)):
            emptied += len(ids)
            for run_id in ids:
                await asyncio.to_thread(remove_tree, self._data_dir / "runs" / run_id)
        while number := await self._write(lambda c: empty_deliveries(c, before, now)):
            deleted += number
        if emptied or deleted:
            log.info("texts deleted after their time", runs=emptied, deliveries=deleted)

    async def _let_go(self, before: float) -> None:
        """Remove mirrors that nobody used, and from the others the commits of old runs.

        There can be many: a pass goes on at the mirror at which the one before was cut, and
        behind it when that one takes up the time of a whole pass.
        """
        root = self._data_dir / "mirrors"
        used = await self._database.read(lambda c: known_mirrors(c, before))
        cut = await self._sweeps.read_progress(NAME)
        first = int(cut.cursor or 0) + (cut.top >= MOST_TRIES)
        for ident in sorted(each for each in mirror_ids(root) if each >= first):
            tries = cut.top + 1 if str(ident) == cut.cursor else 1
            await self._sweeps.note(NAME, LogPosition(cursor=str(ident), top=tries), ())
            mirror = self._mirrors.open_mirror(ident)
            if ident not in used and last_used(mirror.gitdir) < before:
                await remove_mirror(root, ident)
                log.info("mirror removed", repository_id=ident)
                continue
            try:
                kept = await runs_kept(mirror)
                wanted = await self._list_live(kept, before)
                if kept - wanted:
                    await let_go(mirror, kept - wanted)
            except (GitFailed, FettleError) as error:  # the next fetch mends it, or makes it anew
                log.warning("mirror not tidied", repository_id=ident, reason=str(error))
        await self._sweeps.note(NAME, LogPosition(), ())

    async def _list_live(self, kept: set[str], before: float) -> set[str]:
        return await self._database.read(lambda c: live_among(c, kept, before))

    async def _give_back(self) -> None:
        """Make the file smaller where that is worth it and does not take long."""
        free, size = await self._database.slack()
        if free >= SLACK_LEAST and free >= SLACK_SHARE * size and size <= SOON:
            await self._database.compact()

    async def _write(self, fn: Callable[[Connection], T]) -> T:
        return await self._database.write(fn)
