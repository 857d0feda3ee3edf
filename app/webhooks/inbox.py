"""Step 1: the inbox stores many deliveries in one commit, and acknowledges each after it."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import structlog
from sqlalchemy import Connection

from agents.errors import DeliveryError, TransientError
from agents.requests import Request
from app.store.database import Database
from app.store.deliveries import Arrival, StoreResult, claim, count_states, run_of
from app.store.restore_recovery import Recoveries, restore_run_ids
from app.store.runs import Runs
from app.webhooks.receiver import Delivery

ROWS_PER_COMMIT = 100
BYTES_IN_MEMORY = 256 * 1024 * 1024
"""Bodies that wait for a commit, together; more would threaten the process."""

log = structlog.get_logger(__name__)


class AcceptedDelivery(NamedTuple):
    """Whether a delivery was new, and the id of its run."""

    claim: StoreResult
    run_id: str


class _PendingDelivery(NamedTuple):
    arrival: Arrival
    taken: asyncio.Future[AcceptedDelivery]


class Inbox:
    """Commits deliveries in groups: while one batch goes to disk, the next one gathers.

    Other processes put deliveries into the same table and work them off; the dispatcher, which
    looks there, tells how many wait.
    """

    def __init__(self, database: Database, *, limit: int) -> None:
        self.arrived = asyncio.Event()
        """Set when there is something to dispatch; the dispatcher clears it."""
        self._uncommitted = 0
        self._stored = 0
        self._database = database
        self._limit = limit
        self._gathering: list[_PendingDelivery] = []
        self._bytes = 0
        self._committing: asyncio.Task[None] | None = None
        self._last_us = 0
        self._recoveries = Recoveries(database)
        self._recalling = False

    @property
    def depth(self) -> int:
        """How many deliveries wait for the commit, or for a dispatcher after it."""
        return self._uncommitted + self._stored

    async def open(self) -> None:
        """Count the deliveries that an earlier process left waiting."""
        self._recalling = await self._recoveries.find_pending() is not None
        self.recount((await self._database.read(count_states)).get("received", 0))
        if self.depth:
            self.arrived.set()

    async def hand_over(self, request: Request, ident: str, *, event: str, action: str) -> str:
        """Put a request of our own where it is not lost any more; return the id of its run.

        `ident` is the delivery's: the same one twice is the same run. `event` and `action` are of
        `handlers.internal`.
        """
        body = f'{{"request": {request.model_dump_json()}}}'.encode()
        digest = hashlib.sha256(ident.encode() + body).hexdigest()  # asked twice, meant twice
        await self.store(Delivery(ident, event, action, request.installation_id, digest, body))
        run_id = await self._database.read(lambda connection: run_of(connection, ident))
        assert run_id is not None
        await Runs(self._database).create(run_id, request)  # who asks next finds it at once
        return run_id

    async def store(self, delivery: Delivery) -> StoreResult:
        """Return whether the delivery was new, once it is on disk. Raises what `take` raises."""
        return (await self.take(delivery)).claim

    async def take(self, delivery: Delivery) -> AcceptedDelivery:
        """Return whether the delivery was new, and its run id, once it is on disk.

        Raises DeliveryError 503 when too much waits already, or the disk fails: GitHub then counts
        the delivery as failed, and can redeliver it.
        https://docs.github.com/webhooks/using-webhooks/handling-failed-webhook-deliveries
        """
        if self.depth >= self._limit or self._bytes >= BYTES_IN_MEMORY:
            raise DeliveryError(503, "The inbox is full; deliver this again later.")
        entry = _PendingDelivery(
            self._arrival(delivery), asyncio.get_running_loop().create_future()
        )
        self._gathering.append(entry)
        self._uncommitted += 1
        self._bytes += len(delivery.body)
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_all())
        return await entry.taken

    def recount(self, stored: int) -> None:
        """Note how many deliveries wait in the database, whoever stored them."""
        self._stored = stored

    def subtract(self, number: int) -> None:
        """Note that `number` stored deliveries wait no longer."""
        self._stored = max(0, self._stored - number)

    def _arrival(self, delivery: Delivery) -> Arrival:
        """Mint the run id, whose order is the order of arrival even if the clock steps back."""
        now = time.time()
        self._last_us = max(self._last_us + 1, int(now * 1_000_000))
        run_id = f"{self._last_us:016x}-{delivery.id}"
        return Arrival(delivery.id, run_id, *delivery[1:], now)

    async def _commit_all(self) -> None:
        try:
            while self._gathering:
                await self._gather()
                batch = self._gathering[:ROWS_PER_COMMIT]
                del self._gathering[:ROWS_PER_COMMIT]
                await self._commit(batch)
        finally:
            self._committing = None

    async def _gather(self) -> None:
        """Give the loop another turn for as long as each turn brings more deliveries.

        A commit costs about the same for one as for many, and while it runs it competes with the
        loop for Python's lock: fewer and larger ones let more deliveries through.
        """
        seen = 0
        while seen < len(self._gathering) < ROWS_PER_COMMIT:
            seen = len(self._gathering)
            await asyncio.sleep(0)

    async def _commit(self, batch: Sequence[_PendingDelivery]) -> None:
        arrivals = [entry.arrival for entry in batch]
        try:
            taken = await self._database.write(partial(self._claim, arrivals=arrivals))
        except TransientError as error:
            self._refuse(batch, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not take others along
            if len(batch) == 1:
                self._refuse(batch, error)
                return
            for entry in batch:
                await self._commit([entry])
        else:
            self._acknowledge(batch, taken)

    def _claim(self, connection: Connection, arrivals: Sequence[Arrival]) -> list[AcceptedDelivery]:
        """Store them; what was lost with a database gets the run id again that it had there."""
        if self._recalling:
            arrivals = restore_run_ids(connection, arrivals)
        claims = claim(connection, arrivals)
        return [
            AcceptedDelivery(was, each.run_id) for was, each in zip(claims, arrivals, strict=True)
        ]

    def _acknowledge(
        self, batch: Sequence[_PendingDelivery], taken: Sequence[AcceptedDelivery]
    ) -> None:
        for entry, each in zip(batch, taken, strict=True):
            self._bytes -= len(entry.arrival.body)
            if not entry.taken.done():  # done: the sender went away meanwhile
                entry.taken.set_result(each)
        repeated = [each.claim for each in taken].count("duplicate")
        self._uncommitted -= len(batch)
        self._stored += len(batch) - repeated
        if repeated < len(taken):
            self.arrived.set()

    def _refuse(self, batch: Sequence[_PendingDelivery], error: Exception) -> None:
        log.error("deliveries not stored", number=len(batch), error=str(error))
        for entry in batch:
            self._bytes -= len(entry.arrival.body)
            if not entry.taken.done():
                entry.taken.set_exception(
                    DeliveryError(503, "The delivery could not be stored; deliver it again later.")
                )
        self._uncommitted -= len(batch)
