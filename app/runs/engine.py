"""The durable queue. DBOS lives here and nowhere else, with its traps closed.

What DBOS gives: a queue with lanes, steps whose results outlive the process, recovery after
kill -9. What `durable_steps.py` adds: names that make a replay mismatch loud, a gate that lets a
shutdown stop every run at a safe place, and a limit for the machine that waiting runs do not count
against.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import structlog
from dbos import DBOS, DBOSConfig, Serializer, SetEnqueueOptions, SetWorkflowID, _workflow_commands
from dbos._dbos import _get_dbos_instance
from dbos._queue import Queue, queue_worker_thread
from dbos._serialization import DefaultSerializer
from sqlalchemy import Connection, make_url
from sqlalchemy.exc import SQLAlchemyError

from agents.ports import Json, Steps
from app.config.values import cron_of
from app.observability.logging import Sparingly
from app.runs.durable_steps import (
    LOOK_SECONDS,
    RETRY_SECONDS,
    DurableSteps,
    LetGo,
    PutOffRun,
    StepBroken,
    StepPool,
)
from app.runs.queue_watch import QueueLook, QueueWatch
from app.secrets.encryption import OPEN, Cipher
from app.store.database import engine_options, write_ahead
from app.store.engine_tables import put_by, take_up
from app.store.lease import RENEW_SECONDS, SILENT_SECONDS, Claim, Lease

QUEUE = "runs"
"""The queue for all workers: commands and notices, in lanes, and what older versions put there."""
PARKED = "parked"
"""The queue that nobody polls: runs that wait for people, or for a place."""
VERSION = "1"
"""Never changed: runs stored under another version would wait for ever, without a word. A
history that newer code cannot replay is found step by step, by name, and ends its run visibly."""
POLL_SECONDS = 0.25
LET_GO_SECONDS = 5.0
STRAY_SECONDS = 120.0
CONNECTIONS = 14
"""To PostgreSQL, at most: one listens for news, one looks at each queue, the others are the steps'.
The lease has one of its own."""
ENDED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")
FORGET_AT_ONCE = 500

log = structlog.get_logger()


Conduct = Callable[[str, Json, Steps], Awaitable[Json]]
"""What a run does, from its id and request; called again after a crash, it goes on."""
Routine = Callable[[], Awaitable[None]]
"""What is done again and again; cut off or done twice, it does no harm."""


class _JsonSerializer(Serializer):
    """JSON instead of pickle, which would run what somebody wrote into the database; encrypted.

    An error becomes its class's name. One that could not be written at all would leave its run
    neither alive nor dead, in the way of its lane; its text may hold a secret and is for the log.
    """

    def __init__(self, cipher: Cipher) -> None:
        self._cipher = cipher

    def serialize(self, data: Any) -> str:
        if isinstance(data, BaseException):
            data = {"raised": type(data).__name__}
        return self._cipher.encrypt(json.dumps(data, default=_moment))

    def deserialize(self, serialized_data: str) -> Any:
        data = json.loads(self._cipher.decrypt(serialized_data))
        if isinstance(data, dict) and data.keys() == {"raised"}:
            return StepBroken(data["raised"])
        return data

    def name(self) -> str:
        return "fettle_json"


class Engine:
    """One DBOS instance: a process holds at most one."""

    def __init__(
        self,
        database_url: str,
        *,
        executor: str,
        put_off: PutOffRun | None = None,
        retry_seconds: float = RETRY_SECONDS,
        look_seconds: float = LOOK_SECONDS,
        cipher: Cipher = OPEN,
        silent_seconds: float = SILENT_SECONDS,
        connections: int = CONNECTIONS,
    ) -> None:
        self.pool = StepPool(
            _record, put_off=put_off, retry_seconds=retry_seconds, look_seconds=look_seconds
        )
        self._conducting: dict[asyncio.Task[Any], str] = {}
        """What is at work, or waits, in this process; a routine's run has no id."""
        self._executor = executor
        self._awaited: dict[str, float] = {}
        self._own_queue = f"{QUEUE}/{executor}"
        self._routines: dict[str, Routine] = {}
        self._url = database_url
        self._claim = Claim(database_url, executor)
        self._lease: Lease | None = None
        if make_url(database_url).get_backend_name() != "sqlite":
            self._lease = Lease(self._claim, executor, silent_seconds=silent_seconds)
        self._renewing: asyncio.Task[None] | None = None
        self._looking = asyncio.Lock()  # at silent workers
        self._drained = False
        self.lost = asyncio.Event()
        """Set once other workers may have the runs of this one."""
        self._taking: tuple[_Taking, ...] = ()
        self._freed: Callable[[], None] = lambda: None
        self._config: DBOSConfig = {
            "name": "fettle",
            "system_database_url": database_url,
            "application_version": VERSION,
            "executor_id": executor,
            "serializer": _JsonSerializer(cipher),
            "sys_db_pool_size": connections - 1,  # the listener's is beside the pool
            "max_executor_threads": 16,
            "log_level": "WARNING",
            "notification_listener_polling_interval_sec": 0.2,  # on SQLite a stop waits for it
        }

    async def launch(self, conduct: Conduct, *, freed: Callable[[], None] = lambda: None) -> None:
        """Start taking runs, each done by `conduct`, and go on with those of an earlier process.

        `freed` is called whenever a run has left this process, at its end or to wait. Raises
        ConfigError when another process of this name is at work on this database.
        """
        DefaultSerializer.deserialize = _refuse  # type: ignore[assignment]  # no setting for it
        # Of delays and time limits, for which DBOS looks each second, no run of ours has any.
        _workflow_commands._BACKGROUND_JOBS_INTERVAL_SEC = 60.0  # noqa: SLF001 - the same
        await self._claim.take()
        if self._lease is not None:
            await self._lease.begin()
        if make_url(self._url).get_backend_name() == "sqlite":
            write_ahead(self._url)
        self._config["db_engine_kwargs"] = engine_options(self._url)
        # With a handler there already, DBOS adds none, and its lines go the way of all others.
        logging.getLogger("dbos").addHandler(logging.NullHandler())
        logging.getLogger("dbos").addFilter(Sparingly("Asyncio task cancelled"))
        DBOS(config=self._config)
        DBOS.listen_queues([])  # its own thread for the queue would poll without a look first

        async def resume(run_id: str, request: Json) -> Json:
            with self._cancellable(run_id):
                await self.pool.gate.wait()
                try:
                    return await conduct(run_id, request, DurableSteps(self.pool, run_id))
                except LetGo:  # by now it has put away what it worked with
                    await self._suspend(run_id)
                    raise

        # DBOS counts each deploy that a waiting run sees, `Runs.record_start` not (`MOST_STARTS`).
        self._run = DBOS.workflow(name="run", max_recovery_attempts=None)(resume)
        self._routine = DBOS.workflow(name="routine", max_recovery_attempts=None)(
            self._make_routine()
        )
        DBOS.launch()  # blocks for a moment: it takes over the loop that it is called on
        self._freed = freed
        self.pool.gate.set()
        register = partial(
            DBOS.register_queue_async,
            polling_interval_sec=POLL_SECONDS,
            on_conflict="always_update",
        )
        self._taking = (_Taking(await register(QUEUE, partition_concurrency=1)),)
        if self.pool.put_off is not None:
            self._taking = (*self._taking, _Taking(await register(self._own_queue)))
        if self._lease is not None:
            self._renewing = asyncio.create_task(self._keep_lease(self._lease))

    def require_lease(self, connection: Connection) -> None:
        """Raise TransientError in a transaction of a process whose runs others have."""
        if self._lease is not None:
            self._lease.require(connection)

    async def enqueue(self, run_id: str, lane: str, request: Json) -> None:
        """Queue the run in its lane; a run id that is known already changes nothing."""
        with SetWorkflowID(run_id), SetEnqueueOptions(queue_partition_key=lane):
            await DBOS.enqueue_workflow_async(QUEUE, self._run, run_id, request)
        self._ring()

    @property
    def takes_runs(self) -> bool:
        """Return whether this process may begin anything."""
        return self.pool.gate.is_set()

    def is_at_work(self, run_id: str) -> bool:
        """Return whether the run is at work, or waits, in this process."""
        return run_id in self._conducting.values()

    async def take_up(self, run_id: str, request: Json) -> None:
        """Have this process conduct a run, from where it stands, that no other process has."""
        known = await DBOS.list_workflows_async(
            workflow_ids=[run_id], load_input=False, load_output=False
        )
        if not known:
            with SetWorkflowID(run_id):
                await DBOS.enqueue_workflow_async(self._own_queue, self._run, run_id, request)
        else:  # one that has ended is the reaper's
            how = partial(take_up, executor=self._executor, queue=self._own_queue)
            await self._move(partial(how, run_id=run_id, lost=self._is_stray(run_id)))
        self._ring()

    async def schedule(self, name: str, every: int, routine: Routine) -> None:
        """Have the routine done now, and each time the clock shows a multiple of `every` seconds.

        Each time one of the processes of this database does it, whichever is first.
        """
        self._routines[name] = routine
        await DBOS.apply_schedules_async(
            [
                {
                    "schedule_name": name,
                    "workflow_fn": self._routine,
                    "schedule": cron_of(every),
                    "context": name,
                }
            ]
        )
        await asyncio.to_thread(DBOS.trigger_schedule, name)

    def _is_stray(self, run_id: str) -> bool:
        """Tell whether the run has been in this process's queue for long and is not at work.

        Where the database went away as it was taken, DBOS lets go of it without another try.
        """
        now = time.monotonic()
        if now - self._awaited.setdefault(run_id, now) <= STRAY_SECONDS:
            return False
        del self._awaited[run_id]
        return True

    async def _suspend(self, run_id: str) -> None:
        """Put a run that leaves this process where nobody takes it from.

        An error must not become the run's end: it is tried until the database is there.
        """
        change = partial(put_by, run_id=run_id, executor=self._executor, queue=PARKED)
        while True:
            try:
                return await self._move(change)
            except SQLAlchemyError as error:
                log.warning("run not put by yet", run=run_id, reason=type(error).__name__)
            await asyncio.sleep(self.pool.retry_seconds)

    async def _move(self, change: Callable[[Connection], None]) -> None:
        """Have the change made in one transaction of the engine's own database."""

        def move() -> None:
            engine = _get_dbos_instance()._sys_db.engine  # noqa: SLF001 - no public call is as safe
            with engine.begin() as connection:
                change(connection)

        await asyncio.to_thread(move)

    def is_conducting(self) -> bool:
        """Return whether anything is at work, or waits, in this process."""
        return bool(self._conducting)

    def wake(self, run_id: str) -> None:
        """Have the run look whether what it waits for is over, if it waits in this process."""
        if (woken := self.pool.waiting.get(run_id)) is not None:
            woken.set()

    async def result(self, run_id: str) -> Json:
        """Wait for the run to end and return what it returned."""
        handle: Any = await DBOS.retrieve_workflow_async(run_id)
        return await handle.get_result(polling_interval_sec=0.1)

    async def find_ended(self, run_ids: Collection[str]) -> dict[str, str]:
        """Return those of the runs that will never be conducted again, each with its end."""
        if not run_ids:  # no ids would mean all that ever ended
            return {}
        found = await DBOS.list_workflows_async(
            workflow_ids=list(run_ids), status=list(ENDED), load_input=False, load_output=False
        )
        return {each.workflow_id: each.status for each in found}

    async def forget(self, age: timedelta) -> int:
        """Delete what the engine alone remembers of runs that ended so long ago; count them."""
        before = (datetime.now(UTC) - age).isoformat()
        forgotten = 0
        while found := await DBOS.list_workflows_async(
            completed_before=before, limit=FORGET_AT_ONCE, load_input=False, load_output=False
        ):
            await DBOS.delete_workflows_async([each.workflow_id for each in found])
            forgotten += len(found)
        return forgotten

    async def drain(self, grace: float) -> None:
        """Stop: start no step, let each stage reach its next boundary, then let go.

        What is cut off after `grace` seconds goes on from its last turn at the next start. Done a
        second time it does nothing.
        """
        if self._drained:
            return
        self._drained = True
        self.pool.gate.clear()
        for _ in range(int(grace * 20)):
            if not self.pool.working:
                break
            await asyncio.sleep(0.05)
        logging.getLogger("dbos").setLevel(logging.ERROR)  # it warns of each run that is let go
        for each in self._taking:
            await asyncio.to_thread(each.stop)
        await self._let_go()
        with suppress(TimeoutError):  # what it asks of DBOS would bring DBOS's threads back
            await asyncio.wait_for(self._looking.acquire(), LET_GO_SECONDS)
        # DBOS made its threads those of the whole loop, and takes them along.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)
        if self._renewing is not None and self._lease is not None:
            self._renewing.cancel()
            await asyncio.wait({self._renewing})
            if not self.lost.is_set():
                await self._lease.end()
        await self._claim.release()

    async def _keep_lease(self, lease: Lease) -> None:
        """Say that this worker is here, and take what silent ones have, until the lease is lost."""
        while await lease.renew():
            try:
                async with self._looking:
                    for name in await lease.list_silent():
                        if self.pool.gate.is_set():
                            await self._requeue_runs(lease, name)
            except Exception:
                log.exception("other workers not looked at, will be tried again")
            await asyncio.sleep(RENEW_SECONDS)
        self.pool.gate.clear()
        self.lost.set()
        log.error("lease lost", reason="the database is away, or other workers have the runs")

    async def _requeue_runs(self, lease: Lease, name: str) -> None:
        """Put the runs of a silent worker back into the queue, for everybody to go on with.

        What could not be put back is at the next look.
        """
        if not await lease.fence_off(name):
            return
        recover = DBOS._recover_pending_workflows  # noqa: SLF001 - public calls forget attempts
        found = await asyncio.to_thread(recover, [name])
        left = await DBOS.list_workflows_async(
            executor_id=name, status=["PENDING"], limit=1, load_input=False, load_output=False
        )
        log.warning("worker taken over", worker=name, runs=len(found))
        if not left:
            await lease.forget(name)
        self._ring()

    def _ring(self) -> None:
        for each in self._taking:
            each.ring()

    async def _let_go(self) -> None:
        """Cancel what waits at the gate: nothing of it is recorded, so the next start goes on."""
        waiting = list(self._conducting)
        for each in waiting:
            each.cancel()
        if waiting:
            await asyncio.wait(waiting, timeout=LET_GO_SECONDS)

    def _make_routine(self) -> Callable[[datetime, Any], Coroutine[Any, Any, None]]:
        async def routine(_moment: datetime, name: str) -> None:
            if (known := self._routines.get(name)) is None:
                return  # this process has no use for it, or knows it only in a moment
            with self._cancellable(""):
                await self.pool.gate.wait()
                try:
                    await known()
                except Exception:
                    log.exception("routine failed, will be tried again", routine=name)

        return routine

    @contextmanager
    def _cancellable(self, run_id: str) -> Iterator[None]:
        """Let a drain cancel the block."""
        current = asyncio.current_task()
        assert current is not None
        self._conducting[current] = run_id
        self._awaited.pop(run_id, None)
        try:
            yield
        finally:
            del self._conducting[current]
            self._freed()


class _Taking:
    """The thread that takes runs out of the queue: DBOS's own, with a stop event of ours."""

    def __init__(self, queue: Queue) -> None:
        system = (dbos := _get_dbos_instance())._sys_db  # noqa: SLF001 - no public call is as cheap
        self._look = QueueLook(system.engine, system.tables.workflow_status, queue.name)
        self._watch, work = QueueWatch(self._look), queue_worker_thread
        self._thread = threading.Thread(target=work, args=(self._watch, dbos, queue), daemon=True)
        self._thread.start()

    def ring(self) -> None:
        """Have the queue polled now."""
        self._watch.ring()

    def stop(self) -> None:
        """Return once no further run is taken; blocks for one poll at most."""
        self._watch.set()
        self._thread.join(LET_GO_SECONDS)
        self._look.close()


def _record(name: str, work: Callable[[], Coroutine[Any, Any, Json]]) -> Awaitable[Json]:
    return DBOS.run_step_async({"name": name}, work)


def _moment(value: object) -> str:
    """Return the only other thing that DBOS itself hands over: when a schedule was due."""
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no JSON")


def _refuse(_pickle: object, _text: str) -> Any:
    """Stand in for pickle: a stored row names its own format, and none of ours names this one."""
    raise ValueError("A stored value is not JSON.")
