"""Step 3: the durable queue. DBOS lives here and nowhere else, with its traps closed.

What DBOS gives: a queue with lanes, steps whose results outlive the process, recovery after
kill -9. What this file adds: names that make a replay mismatch loud, a gate that lets a shutdown
stop every run at a safe place, a machine-wide limit that parked runs do not count against.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import count
from types import ModuleType
from typing import Any

import structlog
from dbos import DBOS, DBOSConfig, Serializer, SetEnqueueOptions, SetWorkflowID, StepOptions

from agents.errors import TransientError
from agents.ports import Json, Steps

QUEUE = "runs"
PIPELINES_VERSION = "1"  # raised only when stored runs cannot be replayed by this code
RECOVERIES = 20  # starts of the process that one run may see; more means it brings it down
STEP_ATTEMPTS = 6
RETRY_SECONDS = 2.0  # doubled each time: 62 s of waiting in all
LONGEST_WAIT = 900.0
POLL_SECONDS = 0.1

log = structlog.get_logger()


Conduct = Callable[[str, Json, Steps], Awaitable[Json]]
"""What a run does, from its id and request; called again after a crash, it goes on."""


class _JsonSerializer(Serializer):
    """Plain JSON instead of pickle: write access to the database must not mean code execution."""

    def serialize(self, data: Any) -> str:
        return json.dumps(data)

    def deserialize(self, serialized_data: str) -> Any:
        return json.loads(serialized_data)

    def name(self) -> str:
        return "fettle_json"


class StepGivenUp(Exception):
    """A step cannot be done: what it depends on kept failing. The text is the last reason."""


class StepBroken(Exception):
    """A step raised what it must not raise: a mistake of ours. The log has the details."""


class EngineSteps:
    """The port `Steps`: one DBOS step for each stage occurrence of one run."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:
        """Run `work` once in the life of the run; TransientError makes it run again.

        What DBOS records is always a value, never an exception: a replay raises the same error
        without having to rebuild it. Raises StepGivenUp or StepBroken.
        """
        await self._engine.gate.wait()
        options: StepOptions = {
            "name": name,
            "retries_allowed": True,
            "max_attempts": STEP_ATTEMPTS,
            "interval_seconds": RETRY_SECONDS,
            "backoff_rate": 2.0,
            "should_retry": lambda error: isinstance(error, TransientError),
        }
        attempts = count(1)

        async def attempt() -> Json:
            return await self._attempt(name, work, last=next(attempts) == STEP_ATTEMPTS)

        record = await DBOS.run_step_async(options, attempt)
        if "given_up" in record:
            raise StepGivenUp(record["given_up"])
        if "broken" in record:
            raise StepBroken(record["broken"])
        return record["value"]

    async def boundary(self) -> None:
        """Let the stage pass, unless the engine is draining: then it waits here for the end."""
        if not self._engine.gate.is_set():
            self._engine.working.discard(self)
        await self._engine.gate.wait()

    async def _attempt(self, name: str, work: Callable[[], Awaitable[Json]], *, last: bool) -> Json:
        try:
            async with self._engine.places:
                self._engine.working.add(self)
                return {"value": await work()}
        except TransientError as error:
            log.warning("step interrupted", step=name, reason=str(error), again=not last)
            if last:
                return {"given_up": str(error)}
            await asyncio.sleep(min(error.retry_after or 0, LONGEST_WAIT))
            raise
        except Exception as error:  # the one boundary where our own mistakes end a step
            log.exception("step broke", step=name)
            return {"broken": f"{type(error).__name__}: {error}"}
        finally:
            self._engine.working.discard(self)


class Engine:
    """One DBOS instance: a process holds at most one."""

    def __init__(
        self,
        database_url: str,
        conduct: Conduct,
        *,
        executor: str,
        stages_at_once: int,
        sqlite: ModuleType | None = None,
    ) -> None:
        self.gate = asyncio.Event()
        self._conduct = conduct
        self.places = asyncio.Semaphore(stages_at_once)
        self.working: set[EngineSteps] = set()
        self._config: DBOSConfig = {
            "name": "fettle",
            "system_database_url": database_url,
            "application_version": PIPELINES_VERSION,
            "executor_id": executor,
            "serializer": _JsonSerializer(),
            "max_executor_threads": 16,
            "log_level": "WARNING",
            "notification_listener_polling_interval_sec": 0.2,
        }
        if sqlite is not None:
            self._config["db_engine_kwargs"] = {"module": sqlite}

    async def launch(self) -> None:
        """Start taking runs, and go on with those that an earlier process left."""
        DBOS(config=self._config)

        async def conducted(run_id: str, request: Json) -> Json:
            return await self._conduct(run_id, request, EngineSteps(self))

        self._run = DBOS.workflow(name="run", max_recovery_attempts=RECOVERIES)(conducted)
        DBOS.launch()
        self.gate.set()
        await DBOS.register_queue_async(
            QUEUE,
            partition_concurrency=1,
            polling_interval_sec=POLL_SECONDS,
            on_conflict="always_update",
        )

    async def enqueue(self, run_id: str, lane: str, request: Json) -> None:
        """Queue the run in its lane; a run id that is known already changes nothing."""
        with SetWorkflowID(run_id), SetEnqueueOptions(queue_partition_key=lane):
            await DBOS.enqueue_workflow_async(QUEUE, self._run, run_id, request)

    async def result(self, run_id: str) -> Json:
        """Wait for the run to end and return what it returned."""
        handle: Any = await DBOS.retrieve_workflow_async(run_id)
        return await handle.get_result(polling_interval_sec=0.1)

    async def drain(self, grace: float) -> None:
        """Stop: start no step, let each stage reach its next boundary, then let go.

        What is cut off after `grace` seconds goes on from its last turn at the next start.
        """
        self.gate.clear()
        for _ in range(int(grace * 20)):
            if not self.working:
                break
            await asyncio.sleep(0.05)
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)
