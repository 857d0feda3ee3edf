"""Start runs that nobody asks for: once a month to propose guidance, once to offer a set-up."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import orjson
import structlog

from agents.ports.guidance import LEAST
from agents.requests import OfferSetup, ProposeGuidance
from app.alerts.poll import CLOCK
from app.store.found_setups import list_offers
from app.store.proposals import Proposals, TaughtRepository
from app.store.schedule_leases import PassLock, Sweeps
from app.webhooks import Delivery, Inbox
from handlers import internal

NAME = "guidance"
MOST = 10
"""Repositories in one pass; the next one goes on."""
TITLE = "Write down what people said more than once"
SETUP = "setup"
SETUP_TITLE = "Say how the repository is set up"
_KINDS: Mapping[str, tuple[type[ProposeGuidance | OfferSetup], str]] = {
    NAME: (ProposeGuidance, TITLE),
    SETUP: (OfferSetup, SETUP_TITLE),
}

log = structlog.get_logger()


class GuidanceSweep:
    """Starts the runs for repositories where people had enough to say, or a set-up was found."""

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
        taught = await self._proposals.list_due(LEAST, MOST)
        found = await list_offers(self._proposals.database, MOST)
        for due in (*((NAME, each) for each in taught), *((SETUP, each) for each in found)):
            if await self._inbox.store(self._deliver(*due)) != "duplicate":
                log.info("a proposal is due", about=due[0], repository=due[1].repository.full_name)

    def _deliver(self, about: str, due: TaughtRepository) -> Delivery:
        """Return the wish for it, under an id that one day always gives it."""
        repository = due.repository
        kind, title = _KINDS[about]
        request = kind(
            installation_id=due.installation_id,
            repository=repository,
            number=0,
            title=title,
            author=CLOCK,
            asked_by=CLOCK,
            url=f"{self._web}/{repository.full_name}/pulls",
        )
        day = datetime.fromtimestamp(self._clock(), UTC).date()
        digest = hashlib.sha256(f"{repository.id} {day}".encode()).hexdigest()
        body = orjson.dumps({"request": request.model_dump(mode="json")})
        return Delivery(
            f"fettle.{about}-{digest[:32]}",
            internal.SCHEDULE,
            internal.SCHEDULE_ACTION,
            due.installation_id,
            digest,
            body,
        )
