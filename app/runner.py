"""Steps 3 to 5: take a request to the engine; conduct its run from the access check to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

import structlog
from pydantic import TypeAdapter
from structlog.contextvars import bound_contextvars

from agents.errors import ConfigError, RunError, TransientError
from agents.loop.budget import Limits
from agents.pipelines import PIPELINES
from agents.ports import Json, Steps
from agents.requests import Request
from agents.run import Outcome, Ports, Run
from app.engine import Engine, StepBroken, StepGivenUp
from app.store.runs import Runs
from handlers.access import Refusal

LONGEST_PAUSE = 60.0

log = structlog.get_logger()
T = TypeVar("T")
_REQUEST: TypeAdapter[Request] = TypeAdapter(Request)


class Equipment(Protocol):
    """What one run is given: its ports, the way in and the way out."""

    ports: Ports

    async def admit(self) -> Refusal | None:
        """Say that the request was seen, and return why it must not run, if so."""
        ...

    async def finish(self, outcome: Outcome) -> None:
        """Show people how the run ended, and put away what it worked with."""
        ...

    async def close(self) -> None:
        """Let go of what this process holds for the run."""
        ...


Equip = Callable[[str, Request, Steps], Awaitable[Equipment]]
"""Gives a run what it works with: run id, request, and the engine's steps."""


class Runner:
    """The middle of the machine: between the front desk, the engine and the workshop."""

    engine: Engine

    def __init__(
        self,
        runs: Runs,
        equip: Equip,
        *,
        models: Mapping[str, str],
        limits: Limits,
        noreply: str,
    ) -> None:
        self._runs = runs
        self._equip = equip
        self._models = models
        self._limits = limits
        self._noreply = noreply

    async def submit(self, run_id: str, request: Request) -> None:
        """Take the request durably; the same run id a second time changes nothing."""
        await self._runs.create(run_id, request)
        await self.engine.enqueue(run_id, request.lane, request.model_dump(mode="json"))

    async def conduct(self, run_id: str, request_json: Json, steps: Steps) -> Json:
        """Do the whole run and return its outcome; called again after a crash, it goes on."""
        with bound_contextvars(run=run_id):
            known = await _insist(lambda: self._runs.outcome(run_id))
            if known is not None:  # the process died after the end, before the engine knew of it
                return known.model_dump(mode="json")
            try:
                request = _REQUEST.validate_python(request_json)
                outcome = await self._conduct(run_id, request, steps)
            except Exception:  # a history that newer code cannot follow, or a mistake of ours
                log.exception("run broke")
                outcome = await self._end(run_id, request_json, _BROKEN.format(run=run_id))
        return outcome.model_dump(mode="json")

    async def end_lost(self) -> None:
        """End, for people too, the runs that the engine gave up without asking anybody."""
        unfinished = await self._runs.unfinished()
        for run_id, state in (await self.engine.ended(unfinished)).items():
            with bound_contextvars(run=run_id):
                log.error("run lost", state=state)
                text = _LOST.get(state, _BROKEN).format(run=run_id)
                await self._end(run_id, unfinished[run_id], text)

    async def _conduct(self, run_id: str, request: Request, steps: Steps) -> Outcome:
        with bound_contextvars(repository=request.repository.full_name):
            watched = _Watched(steps, self._runs, run_id)
            equipment = await _insist(lambda: self._equip(run_id, request, watched))
            try:
                outcome = await self._outcome(run_id, request, equipment)
                await self._finish(run_id, equipment, outcome)
            finally:
                await equipment.close()
        return outcome

    async def _end(self, run_id: str, request_json: Json, text: str) -> Outcome:
        """End a run as failed, without the engine's help; one that ended already stays as it is."""
        if (known := await _insist(lambda: self._runs.outcome(run_id))) is not None:
            return known
        outcome = Outcome(kind="failed", text=text)
        try:
            request = _REQUEST.validate_python(request_json)
            equipment = await self._equip(run_id, request, _Unrecorded())
            try:
                await equipment.finish(outcome)
            finally:
                await equipment.close()
        except Exception:
            log.exception("could not report the end of the run")
        await _insist(lambda: self._runs.ended(run_id, outcome))
        return outcome

    async def _outcome(self, run_id: str, request: Request, equipment: Equipment) -> Outcome:
        try:
            if refusal := await self._admit(equipment):
                return Outcome(kind="refused", text=refusal.text, rule=refusal.rule)
            return await self._work(run_id, request, equipment)
        except RunError as error:
            return Outcome(kind="failed", text=str(error))
        except StepGivenUp as error:
            return Outcome(kind="failed", text=_OUTSIDE.format(reason=error))
        except StepBroken:
            return Outcome(kind="failed", text=_BROKEN.format(run=run_id))

    async def _admit(self, equipment: Equipment) -> Refusal | None:
        async def admit() -> Json:
            try:
                refusal = await equipment.admit()
            except RunError as error:
                refusal = Refusal(rule="could-not-check", text=str(error))
            except ConfigError as error:
                refusal = Refusal(rule="could-not-check", text=f"{_OPERATOR} {error}")
            return refusal.model_dump(mode="json") if refusal else None

        found = await equipment.ports.steps.step("access/1", admit)
        return Refusal.model_validate(found) if found else None

    async def _work(self, run_id: str, request: Request, equipment: Equipment) -> Outcome:
        pipeline = PIPELINES[type(request)]
        run = Run(
            id=run_id,
            request=request,
            ports=equipment.ports,
            conversations=pipeline.conversations,
            models=self._models,
            limits=self._limits,
            noreply=self._noreply,
        )
        return await pipeline.work(run, request)

    async def _finish(self, run_id: str, equipment: Equipment, outcome: Outcome) -> None:
        async def finish() -> Json:
            await equipment.finish(outcome)
            await self._runs.ended(run_id, outcome)
            return True

        try:
            await equipment.ports.steps.step("finish/1", finish)
        except (StepGivenUp, StepBroken) as error:
            log.warning("could not report the end of the run", reason=str(error))
            await _insist(lambda: self._runs.ended(run_id, outcome))
        log.info("run ended", outcome=outcome.kind, text=outcome.text)


_OUTSIDE = (
    "Something that Fettle depends on kept failing: {reason}. Nothing was published. Set"
    " the label again once it works; if it happens again, the operator's log says more."
)
_OPERATOR = "Fettle is not set up right, so it could not check this. Its operator has to act:"
_BROKEN = (
    "Fettle made a mistake of its own and stopped. Nothing of yours is wrong. The operator finds"
    " the details in the log under run `{run}`; setting the label again starts afresh."
)
_LOST = {
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": (
        "Fettle was stopped again and again while it worked on this, so it leaves it alone. The"
        " operator finds the run `{run}` in the log; setting the label again starts afresh."
    ),
    "CANCELLED": "The run was cancelled by the operator. Setting the label again starts afresh.",
}


async def _insist(work: Callable[[], Awaitable[T]]) -> T:
    """Do it, however often the database has to be asked: nothing can go on without it."""
    pause = 1.0
    while True:
        try:
            return await work()
        except TransientError as error:
            log.warning("run waits", reason=str(error), seconds=pause)
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


class _Unrecorded:
    """The port `Steps` where there is nothing left to record."""

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:  # noqa: ARG002 the port has it
        return await work()

    async def boundary(self) -> None:
        return


class _Watched:
    """The engine's steps, with the run's row kept up to date for people."""

    def __init__(self, steps: Steps, runs: Runs, run_id: str) -> None:
        self._steps = steps
        self._runs = runs
        self._run_id = run_id

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:
        async def noted() -> Json:
            await self._runs.started(self._run_id, name)
            with bound_contextvars(stage=name):
                return await work()

        return await self._steps.step(name, noted)

    async def boundary(self) -> None:
        await self._steps.boundary()
