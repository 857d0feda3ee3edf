"""Steps 3 to 5: take a request to the engine; conduct its run from the access check to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

import structlog
from structlog.contextvars import bound_contextvars

from agents.errors import RunError, TransientError
from agents.loop.budget import RunLimits
from agents.pipelines import PIPELINES
from agents.pipelines.stages.save_unfinished import EarlyEnd
from agents.ports import Json, Steps
from agents.requests import Asked, Command, Request, request_of
from agents.run import Outcome, Run, Standing
from app.observability.logging import keys_of
from app.observability.tracing import NoTracing, Tracing, run_ended
from app.runs.admission import LONGEST_PAUSE, MOST_TRIES, Admission, Admitting, Door, Withdrawn
from app.runs.durable_steps import StepBroken, StepGivenUp
from app.runs.engine import Engine
from app.runs.failure_text import AGAIN, BROKEN, LOST, given_up, on_lost_ground
from app.runs.progress import Held, Unrecorded, Watched
from app.store.runs.runs import Runs
from handlers.notifications import KINDS, Notice, notice_of

MOST_STARTS = 20
"""Starts in a row that get a run no further: then it is what brings the process down."""

log = structlog.get_logger()
T = TypeVar("T")


class Equipment(Admitting, Protocol):
    """What one run is given: its ports, the way in and the way out."""

    async def rest(self) -> None:
        """Let go of what can be made again: the run waits for people, perhaps for days."""
        ...

    async def finish(self, outcome: Outcome) -> None:
        """Show people how the run ended, and put away what it worked with."""
        ...

    async def close(self) -> None:
        """Let go of what this process holds for the run."""
        ...


Equip = Callable[[str, Request, Steps], Awaitable[Equipment]]
"""Gives a run what it works with: run id, request, and the engine's steps."""
Obey = Callable[[Command, str], Awaitable[Json]]
"""Carries the command of this id out and returns what became of it; may be told the same again."""
Current = Callable[[Request], Awaitable[Request]]
"""Returns the same request about its repository as it is called, and reached, by now."""
LookBack = Callable[[str, Request], Awaitable[Outcome | None]]
"""Returns how the run had ended on a server whose data was lost; None where it had not."""
TakeNote = Callable[[Notice, str], Awaitable[Json]]
"""Follows the notice of this id and returns what became of it; may be told the same again."""


class Runner:
    """The middle of the machine: between the front desk, the engine and the workshop."""

    engine: Engine

    def __init__(
        self,
        runs: Runs,
        equip: Equip,
        *,
        models: Mapping[str, str],
        limits: RunLimits,
        noreply: str,
        obey: Obey | None = None,
        take_note: TakeNote | None = None,
        current: Current | None = None,
        tracing: Tracing | None = None,
        ended_before: LookBack | None = None,
    ) -> None:
        self._ended_before = ended_before
        self._runs = runs
        self._equip = equip
        self._models = models
        self._limits = limits
        self._noreply = noreply
        self._obey = obey
        self._take_note = take_note
        self._current = current or _unchanged
        self._tracing = tracing or NoTracing()

    async def submit(self, run_id: str, request: Request | Command | Notice) -> None:
        """Take the request durably; the same run id a second time changes nothing."""
        if isinstance(request, Asked):
            await self._runs.create(run_id, request)
        queued = self.engine.enqueue(run_id, request.lane, request.model_dump(mode="json"))
        # A command may ask for a run, which the engine must not take for a part of the command.
        await asyncio.create_task(queued, context=Context())

    async def conduct(self, run_id: str, request_json: Json, steps: Steps) -> Json:
        """Do the whole run and return its outcome; called again after a crash, it goes on."""
        with self._tracing.followed(run_id), bound_contextvars(**keys_of(run_id, request_json)):
            return await self._conducted(run_id, request_json, steps)

    async def _conducted(self, run_id: str, request_json: Json, steps: Steps) -> Json:
        kind = request_json["kind"] if isinstance(request_json, dict) else None
        if kind == "command":
            return await self._command(run_id, request_json, steps)
        if kind in KINDS:
            return await self._notice(run_id, request_json, steps)
        with bound_contextvars(run=run_id):
            known = await _insist(lambda: self._runs.outcome(run_id))
            if known is not None:  # the process died after the end, before the engine knew of it
                return known.model_dump(mode="json")
            if await _insist(lambda: self._runs.begun(run_id)) > MOST_STARTS:
                log.error("run put aside", starts=MOST_STARTS)
                outcome = await self._end(run_id, request_json, AGAIN.format(run=run_id))
                return outcome.model_dump(mode="json")
            try:
                request = request_of(request_json)
                outcome = await self._conduct(run_id, request, steps)
            except Exception:  # a history that newer code cannot follow, or a mistake of ours
                log.exception("run broke")
                outcome = await self._end(run_id, request_json, BROKEN.format(run=run_id))
        return outcome.model_dump(mode="json")

    async def _command(self, ident: str, command_json: Json, steps: Steps) -> Json:
        """Carry a command out: it is a person's decision."""
        command, obey = Command.model_validate(command_json), self._obey
        assert obey is not None, "nobody here carries out commands"
        return await _tried("command", partial(obey, command, ident), steps)

    async def _notice(self, ident: str, notice_json: Json, steps: Steps) -> Json:
        """Have a notice followed."""
        notice, take_note = notice_of(notice_json), self._take_note
        assert take_note is not None, "nobody here takes notices"
        return await _tried("notice", partial(take_note, notice, ident), steps)

    async def end_lost(self) -> None:
        """End, for people too, the runs that the engine gave up without asking anybody."""
        unfinished = await self._runs.unfinished()
        while unfinished:
            for run_id, state in (await self.engine.ended(unfinished)).items():
                with bound_contextvars(run=run_id):
                    log.error("run lost", state=state)
                    text = LOST.get(state, BROKEN).format(run=run_id)
                    await self._end(run_id, await self._runs.request(run_id), text)
            unfinished = await self._runs.unfinished(after=unfinished[-1])

    async def _conduct(self, run_id: str, asked: Request, steps: Steps) -> Outcome:
        request = await _insist(lambda: self._current(asked))
        with bound_contextvars(repository=request.repository.full_name):
            if (over := await self._over(run_id, request)) is not None:
                return over
            watched = Watched(steps, self._runs, run_id)
            equipment = await _insist(lambda: self._equip(run_id, request, watched))
            reporter = Held(equipment.ports.reporter)
            watched.goes_on, watched.rests = reporter.release, equipment.rest
            door = Door(equipment)
            watched.stands = door.still
            equipment.ports = replace(equipment.ports, reporter=reporter)
            try:
                outcome = await self._outcome(run_id, request, equipment, door)
                outcome = await _insist(lambda: on_lost_ground(outcome, equipment))
                await self._finish(run_id, equipment, outcome)
            finally:
                await equipment.close()
        return outcome

    async def _over(self, run_id: str, request: Request) -> Outcome | None:
        """Return how it ended before, and note it, so that nothing of it is done again."""
        look = self._ended_before
        if look is None or (found := await _insist(lambda: look(run_id, request))) is None:
            return None
        await _insist(lambda: self._runs.ended(run_id, found))
        return found

    async def _end(self, run_id: str, request_json: Json, text: str) -> Outcome:
        """End a run as failed, without the engine's help; one that ended already stays as it is."""
        if (known := await _insist(lambda: self._runs.outcome(run_id))) is not None:
            return known
        outcome = Outcome(kind="failed", text=text)
        try:
            request = await self._current(request_of(request_json))
            equipment = await self._equip(run_id, request, Unrecorded())
            try:
                await equipment.finish(outcome)
            finally:
                await equipment.close()
        except Exception:
            log.exception("could not report the end of the run")
        await _insist(lambda: self._runs.ended(run_id, outcome))
        return outcome

    async def _outcome(
        self, run_id: str, request: Request, equipment: Equipment, door: Door
    ) -> Outcome:
        try:
            admission = await door.look()
            if admission.ending is not None:
                return admission.ending
            return await self._work(run_id, request, equipment, admission)
        except Withdrawn as withdrawn:
            return withdrawn.outcome
        except RunError as error:
            return Outcome(kind="failed", text=str(error))
        except (StepGivenUp, StepBroken) as error:
            return Outcome(kind="failed", text=given_up(error, run_id))

    async def _work(
        self, run_id: str, request: Request, equipment: Equipment, admission: Admission
    ) -> Outcome:
        pipeline, given = PIPELINES[type(request)], admission.policy
        named = given.policy().models.named if given is not None else {}
        run = Run(
            id=run_id,
            request=request,
            ports=equipment.ports,
            conversations=pipeline.conversations,
            given=given,
            models={**self._models, **named},
            limits=self._limits,
            noreply=self._noreply,
            standing=Standing(tainted=admission.tainted),
        )
        try:
            return await pipeline.work(run, request)
        except (StepGivenUp, StepBroken) as error:
            if run.stopping or not run.trunk:  # keeping is what failed, or there is nothing yet
                raise
            return await pipeline.keep(run, EarlyEnd(kind="failed", text=given_up(error, run_id)))

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
        run_ended(run_id, "run", fettle__run=run_id, fettle__outcome=outcome.kind)


async def _unchanged(request: Request) -> Request:
    return request


async def _tried(name: str, work: Callable[[], Awaitable[Json]], steps: Steps) -> Json:
    """Do it in steps of this name, however long GitHub cannot be reached."""
    for number in range(1, MOST_TRIES + 1):
        try:
            return await steps.step(f"{name}/{number}", work)
        except StepGivenUp as error:
            log.warning("not carried out yet", what=name, reason=str(error))
        await asyncio.sleep(LONGEST_PAUSE)
    return {"failed": "given up"}


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
