"""Step 3: the queue of runs, which is the table of runs: who is next, and who waits how long.

The durable engine gets a run when a place is free for it here, and lets go of it when it waits for
people: a run that waits, for a place or for people, is a row and nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context

import structlog
from pydantic import ValidationError
from structlog.contextvars import bound_contextvars

from agents.errors import FettleError, TransientError
from agents.requests import Command, Request, RequestBase, request_of
from app.observability.logging import keys_of
from app.runs.engine import Engine
from app.store.database import Database
from app.store.runs import QueuedRun, QueueState, RunPlaces, Runs, look_at_queue
from handlers.notifications import Notification

LOOK_SECONDS = 2.0
"""From one look to the next: another process may have queued something, or a wait be over."""
TELL_AFTER_SECONDS = 2.0
"""A wait that is over sooner is not worth a comment."""
TELL_AGAIN_SECONDS = 60.0
"""After which a place is told anew that has become half of what was told, or twice as much: GitHub
takes 500 writes an hour."""
TELL_AT_ONCE = 4

log = structlog.get_logger()

Tell = Callable[[str, Request, int, float | None], Awaitable[bool]]
"""Shows people the run's place in the queue, and the seconds that it may take; False where the run
will not begin."""


class RunQueue:
    """Takes requests for runs, people's commands and notices of what changed."""

    def __init__(
        self,
        database: Database,
        engine: Engine,
        places: RunPlaces,
        *,
        tell: Tell | None = None,
        waited: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self._database = database
        self._runs = Runs(database)
        self._engine = engine
        self._places = places
        self._tell = tell
        self._waited = waited
        self._rung = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None
        self.has_parked = True
        """Whether any run waits for people, as last seen."""

    async def submit(self, run_id: str, request: Request | Command | Notification) -> None:
        """Take the request durably; the same run id a second time changes nothing."""
        if isinstance(request, RequestBase):
            await self._runs.create(run_id, request)
            self.ring()
            return
        queued = self._engine.enqueue(run_id, request.lane, request.model_dump(mode="json"))
        # A command may ask for a run, which the engine must not take for a part of the command.
        await asyncio.create_task(queued, context=Context())

    def ring(self) -> None:
        """Have the queue looked at now: a place is free, or a wait is over."""
        self._rung.set()

    async def run(self) -> None:
        """Go on until cancelled: a fault in here must not end anything else."""
        try:
            while True:
                self._rung.clear()
                try:
                    await self.look_once()
                except TransientError as error:
                    log.warning("queue waits", reason=str(error))
                except Exception:
                    log.exception("queue not looked at, will be tried again")
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._rung.wait()
        finally:
            if self._telling is not None:
                self._telling.cancel()

    async def look_once(self) -> None:
        """Queue what has waited, take what there are places for, and tell the others."""
        if not self._engine.takes_runs:
            return
        self.has_parked = await self._places.queue_woken() > 0
        queued = await self._places.has_queued()
        if queued:
            for run_id, seconds in (await self._places.take()).items():
                self._waited(seconds)
                with bound_contextvars(**keys_of(run_id, await self._runs.request(run_id))):
                    log.info("run admitted", run=run_id, waited=round(seconds, 1))
        for run_id in await self._places.list_held():
            if not self._engine.is_at_work(run_id):
                await self._engine.take_up(run_id, await self._runs.request(run_id))
        if queued and self._tell is not None and (self._telling is None or self._telling.done()):
            self._telling = asyncio.create_task(self._tell_places(self._tell))

    # --- people hear where they stand -----------------------------------------------------------

    async def _tell_places(self, tell: Tell) -> None:
        try:
            state = await look_at_queue(self._database)
        except TransientError as error:
            log.warning("places in the queue not told", reason=str(error))
            return
        due = [(each, place) for place, each in enumerate(state.queued, 1) if _is_news(each, place)]
        for start in range(0, len(due), TELL_AT_ONCE):
            some = due[start : start + TELL_AT_ONCE]
            await asyncio.gather(*(self._tell_one(tell, state, *each) for each in some))

    async def _tell_one(self, tell: Tell, state: QueueState, run: QueuedRun, place: int) -> None:
        """Tell of one run's place; what people see must stop nobody's work."""
        told: int | None = None
        try:
            if not await self._places.begin_telling(run.id):
                return
            try:
                request = request_of(await self._runs.request(run.id))
                waits = await tell(run.id, request, place, state.guess_wait(place))
                told = place if waits else 0
            finally:
                await self._places.end_telling(run.id, told)
            if not told:
                self.ring()
        except (FettleError, ValidationError) as error:
            log.warning("place in the queue not told", run=run.id, reason=type(error).__name__)
        except Exception:
            log.exception("place in the queue not told", run=run.id)


def _is_news(run: QueuedRun, place: int) -> bool:
    """Return whether people should hear of the run's place: they wait, and know of no such one."""
    told = run.told_place
    if run.unasked or run.begun or (told is not None and told < 2 * place < 4 * told):
        return False
    now = time.time()
    return now - run.told_at > TELL_AGAIN_SECONDS and now - run.since > TELL_AFTER_SECONDS
