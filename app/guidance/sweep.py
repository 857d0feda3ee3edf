"""Start a run, at most once a month for each repository, that proposes what to write down."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from datetime import UTC, datetime

import orjson
import structlog

from agents.ports.guidance import LEAST
from agents.requests import ProposeGuidance
from app.alerts.poll import CLOCK
from app.store.proposals import Proposals, TaughtRepository
from app.store.schedule_leases import PassLock, Sweeps
from app.webhooks import Delivery, Inbox
from handlers import internal

NAME = "guidance"
MOST = 10
"""Repositories in one pass; the next one goes on."""
TITLE = "Write down what people said more than once"

log = structlog.get_logger()


class GuidanceSweep:
    """Starts the runs for repositories where people had enough to say."""

    def __init__(
        self,
        proposals: Proposals,
        inbox: Inbox,
        sweeps: Sweeps,
        *,
        web: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._proposals = proposals
        self._inbox = inbox
        self._web = web
        self._clock = clock
        self._turn = PassLock(sweeps, NAME)

    async def run(self) -> None:
        """Make one pass, unless one is under way in this process or another."""
        await self._turn.take(self._pass)

    async def _pass(self) -> None:
        for due in await self._proposals.list_due(LEAST, MOST):
            if await self._inbox.store(self._deliver(due)) != "duplicate":
                log.info("guidance is due", repository=due.repository.full_name)

    def _deliver(self, due: TaughtRepository) -> Delivery:
        """Return the wish for it, under an id that one day always gives it."""
        repository = due.repository
        request = ProposeGuidance(
            installation_id=due.installation_id,
            repository=repository,
            number=0,
            title=TITLE,
            author=CLOCK,
            asked_by=CLOCK,
            url=f"{self._web}/{repository.full_name}/pulls",
        )
        day = datetime.fromtimestamp(self._clock(), UTC).date()
        digest = hashlib.sha256(f"{repository.id} {day}".encode()).hexdigest()
        body = orjson.dumps({"request": request.model_dump(mode="json")})
        return Delivery(
            f"fettle.guidance-{digest[:32]}",
            internal.SCHEDULE,
            internal.SCHEDULE_ACTION,
            due.installation_id,
            digest,
            body,
        )
