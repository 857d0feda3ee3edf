"""Stay with a run until it ends, or until it waits for somebody; decide what it asks meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from agents.errors import TransientError
from app.config.system_user import find_operator
from app.records.approvals import StoredApproval
from app.runs.follow import Follower, RunSnapshot
from app.store.runs import ApprovalDecision, StoredApprovals

LOOK_SECONDS = 0.25
STILL_SECONDS = 60.0
"""After which a run of which nothing is heard may have nobody who works on it."""

PersonAnswer = tuple[ApprovalDecision, str]
Ask = Callable[[StoredApproval], Awaitable[PersonAnswer | None]]
"""Asks the person at the terminal; None when they want to decide later."""


class RunAbandoned(Exception):
    """Nothing is heard of the run, and no process is at work that could go on with it."""


@dataclass
class Companion:
    """Follows one run."""

    follower: Follower
    approvals: StoredApprovals
    ask: Ask | None = None
    """None: nobody sits at the terminal."""
    alone: Callable[[], Awaitable[bool]] | None = None
    """Tells whether nobody works on the run any more; None while this process does."""
    look_seconds: float = LOOK_SECONDS
    _heard: tuple[object, ...] = ()
    _still_since: float = 0.0

    async def stay(self) -> RunSnapshot:
        """Return the run once it is over, or waits for somebody who is not here.

        Raises Deserted.
        """
        while True:
            with suppress(TransientError):  # the next look may do
                seen = await self.follower.look()
                if seen is not None and (seen.has_ended or await self._left_waiting(seen)):
                    return seen
                await self._require_life(seen)
            await asyncio.sleep(self.look_seconds)

    async def list_waiting(self, run_id: str) -> list[StoredApproval]:
        """Return what people have to decide for the run to go on, oldest first."""
        return [each for each in await self.approvals.of_run(run_id) if each.state == "waiting"]

    async def _left_waiting(self, seen: RunSnapshot) -> bool:
        """Return whether it waits for somebody, after having asked whoever is here."""
        if seen.waits is None or seen.waits.what == "pause":
            return False
        if seen.waits.what == "answer":
            return True
        for asked in await self.list_waiting(seen.run.id):
            answer = await self.ask(asked) if self.ask is not None else None
            if answer is None:
                return True
            verdict, reason = answer
            await self.approvals.decide(
                asked.id,
                verdict=verdict,
                by=find_operator(),
                by_id=None,
                via="terminal",
                reason=reason,
            )
        return False

    async def _require_life(self, seen: RunSnapshot | None) -> None:
        now = asyncio.get_running_loop().time()
        heard = (seen.run.updated_at, seen.run.answers, seen.waits) if seen else ()
        if heard != self._heard or not self._still_since:
            self._heard, self._still_since = heard, now
        if self.alone is None or now - self._still_since < STILL_SECONDS:
            return
        self._still_since = now
        if await self.alone():
            raise RunAbandoned
