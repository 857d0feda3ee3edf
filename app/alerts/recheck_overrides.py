"""Start runs that try to remove version overrides whose date has come.

Each override carries the date by which somebody has to look at it again. Where it is still needed,
the date moves on by the same number of days, and nobody is told.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable

import orjson
import structlog
from pydantic import ValidationError

from agents.errors import RunError, TransientError
from agents.policy import Found, InvalidPolicy
from agents.requests import Overruled, RemediateAlert, Repository, Retire, request_of
from app.alerts.poll import CLOCK
from app.github.alerts.issue_text import in_folder
from app.store.alerts import AlertRuns, Override, Overrides
from app.store.runs import Runs
from app.store.schedule_leases import PassLock, Sweeps
from app.webhooks import Delivery, Inbox
from handlers import internal

NAME = "overrides"
DAY = 86_400.0
WEEK = 7 * DAY
"""Seconds after which it is asked for again where nothing was heard: its run says when, if it can.
"""
MOST = 20
"""In one pass; the next one goes on."""

TITLE = "Do without the override of {package}{folder}"

ReadRepositoryPolicy = Callable[[int, Repository], Awaitable[Found]]
"""Reads the policy that holds in a repository now; the first is the installation."""

log = structlog.get_logger()


class OverrideRecheck:
    """Starts the runs about overrides whose turn it is."""

    def __init__(
        self,
        policy: ReadRepositoryPolicy,
        *,
        overrides: Overrides,
        alert_runs: AlertRuns,
        runs: Runs,
        inbox: Inbox,
        sweeps: Sweeps,
        web: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._policy = policy
        self._overrides = overrides
        self._alert_runs = alert_runs
        self._runs = runs
        self._inbox = inbox
        self._web = web
        self._clock = clock
        self._turn = PassLock(sweeps, NAME)

    async def run(self) -> None:
        """Make one pass, unless one is under way in this process or another."""
        await self._turn.take(self._pass)

    async def _pass(self) -> None:
        now = self._clock()
        for due in await self._overrides.due(now, MOST):
            # First of all, so that one at which it breaks does not stop the others for ever.
            tomorrow = now + DAY
            if not await self._overrides.move(due.run_id, seen=due.until, to=tomorrow):
                continue
            try:
                asked = await self._ask(due)
            except (RunError, TransientError, ValidationError) as error:
                log.info("override not looked at", run=due.run_id, reason=str(error))
                continue
            if asked:  # unless the run was so quick that it has said already when
                await self._overrides.move(due.run_id, seen=tomorrow, to=now + WEEK)

    async def _ask(self, due: Override) -> bool:
        """Put the request into the inbox if it may be now; tell whether it was."""
        if due.overruled is None or not due.readable:
            return False
        if await self._overrides.pulls(due.lane) or await self._alert_runs.live(due.lane):
            return False
        found = await self._policy(due.installation_id, due.repository)
        if isinstance(found, InvalidPolicy) or not found.policy.triggers.alerts:
            return False
        wanted = found.policy.remediation
        stored = await self._runs.request(due.run_id)
        if wanted.schedule == "never" or stored is None:
            return False
        asked = request_of(stored)
        assert isinstance(asked, RemediateAlert), "only these make overrides"
        request = self._request(due, due.overruled, asked, wanted.override_days)
        if await self._inbox.store(_delivery(due, request)) == "duplicate":
            return True
        log.info("override has come of age", lane=due.lane, run=due.run_id)
        return True

    def _request(
        self, due: Override, overruled: Overruled, asked: RemediateAlert, days: int
    ) -> RemediateAlert:
        """Return the wish to do without it, about the repository as it is called by now."""
        folder = in_folder(asked.directory)
        return RemediateAlert(
            installation_id=due.installation_id,
            repository=due.repository,
            number=0,
            title=TITLE.format(package=asked.package, folder=folder),
            author=asked.author,
            asked_by=CLOCK,
            url=f"{self._web}/{due.repository.full_name}/security/dependabot",
            ecosystem=asked.ecosystem,
            package=asked.package,
            directory=asked.directory,
            alerts=due.alerts,
            base_branch=asked.base_branch,
            retire=Retire(**overruled.model_dump(), run_id=due.run_id, days=days),
            via="schedule",
        )


def _delivery(due: Override, request: RemediateAlert) -> Delivery:
    """Return the delivery; its id is the same for one day, so that it counts once."""
    digest = hashlib.sha256(f"{due.run_id} {due.until}".encode()).hexdigest()
    body = orjson.dumps({"request": request.model_dump(mode="json")})
    ident, installation_id = f"fettle.overrides-{digest[:32]}", due.installation_id
    return Delivery(
        ident, internal.SCHEDULE, internal.SCHEDULE_ACTION, installation_id, digest, body
    )
