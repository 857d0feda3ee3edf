"""Steps 3 to 5: take a request to the engine; conduct its run from the access check to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Protocol, TypeVar

import structlog
from pydantic import TypeAdapter
from structlog.contextvars import bound_contextvars

from agents.errors import ConfigError, RunError, TransientError
from agents.loop.budget import Limits
from agents.pipelines import PIPELINES
from agents.ports import Json, Steps
from agents.requests import Command, Frozen, Request
from agents.run import Outcome, Ports, Run
from app.engine import Engine
from app.steps import StepBroken, StepGivenUp
from app.store.runs import Runs
from app.watched import Held, Unrecorded, Watched
from handlers.access import Refusal

LONGEST_PAUSE = 60.0
MOST_TRIES = 500  # of a command, each of several attempts: most of a day
MOST_STARTS = 20
"""Starts in a row that get a run no further: then it is what brings the process down."""

log = structlog.get_logger()
T = TypeVar("T")
_REQUEST: TypeAdapter[Request] = TypeAdapter(Request)


class Admission(Frozen):
    """What came of looking who asks, and for what."""

    refusal: Refusal | None = None
    """Why it must not run."""
    tainted: bool = True
    """Somebody who may not write to the repository worded the request."""


class Equipment(Protocol):
    """What one run is given: its ports, the way in and the way out."""

    ports: Ports

    async def admit(self) -> Admission:
        """Say that the request was seen, and return whether it may run."""
        ...

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
Obey = Callable[[Command], Awaitable[Json]]
"""Carries a command out and returns what became of it; it may be told the same again."""


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
        obey: Obey | None = None,
    ) -> None:
        self._runs = runs
        self._equip = equip
        self._models = models
        self._limits = limits
        self._noreply = noreply
        self._obey = obey

    async def submit(self, run_id: str, request: Request | Command) -> None:
        """Take the request durably; the same run id a second time changes nothing."""
        if not isinstance(request, Command):
            await self._runs.create(run_id, request)
        await self.engine.enqueue(run_id, request.lane, request.model_dump(mode="json"))

    async def conduct(self, run_id: str, request_json: Json, steps: Steps) -> Json:
        """Do the whole run and return its outcome; called again after a crash, it goes on."""
        if isinstance(request_json, dict) and request_json.get("kind") == "command":
            return await self._command(request_json, steps)
        with bound_contextvars(run=run_id):
            known = await _insist(lambda: self._runs.outcome(run_id))
            if known is not None:  # the process died after the end, before the engine knew of it
                return known.model_dump(mode="json")
            if await _insist(lambda: self._runs.begun(run_id)) > MOST_STARTS:
                log.error("run put aside", starts=MOST_STARTS)
                outcome = await self._end(run_id, request_json, _AGAIN.format(run=run_id))
                return outcome.model_dump(mode="json")
            try:
                request = _REQUEST.validate_python(request_json)
                outcome = await self._conduct(run_id, request, steps)
            except Exception:  # a history that newer code cannot follow, or a mistake of ours
                log.exception("run broke")
                outcome = await self._end(run_id, request_json, _BROKEN.format(run=run_id))
        return outcome.model_dump(mode="json")

    async def _command(self, command_json: Json, steps: Steps) -> Json:
        """Carry a command out, however long GitHub cannot be reached: it is a person's decision."""
        command, obey = Command.model_validate(command_json), self._obey
        assert obey is not None, "nobody here carries out commands"
        for number in range(1, MOST_TRIES + 1):
            try:
                return await steps.step(f"command/{number}", partial(obey, command))
            except StepGivenUp as error:
                log.warning("command not carried out yet", verb=command.verb, reason=str(error))
            await asyncio.sleep(LONGEST_PAUSE)
        return {"failed": "given up"}

    async def end_lost(self) -> None:
        """End, for people too, the runs that the engine gave up without asking anybody."""
        unfinished = await self._runs.unfinished()
        while unfinished:
            for run_id, state in (await self.engine.ended(unfinished)).items():
                with bound_contextvars(run=run_id):
                    log.error("run lost", state=state)
                    text = _LOST.get(state, _BROKEN).format(run=run_id)
                    await self._end(run_id, await self._runs.request(run_id), text)
            unfinished = await self._runs.unfinished(after=unfinished[-1])

    async def _conduct(self, run_id: str, request: Request, steps: Steps) -> Outcome:
        with bound_contextvars(repository=request.repository.full_name):
            watched = Watched(steps, self._runs, run_id)
            equipment = await _insist(lambda: self._equip(run_id, request, watched))
            reporter = Held(equipment.ports.reporter)
            watched.goes_on, watched.rests = reporter.release, equipment.rest
            looks = count(2)
            watched.stands = lambda: self._still_admitted(equipment, looks)
            equipment.ports = replace(equipment.ports, reporter=reporter)
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
            equipment = await self._equip(run_id, request, Unrecorded())
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
            admission = await self._admit(equipment, 1)
            if refusal := admission.refusal:
                return Outcome(kind="refused", text=refusal.text, rule=refusal.rule)
            return await self._work(run_id, request, equipment, tainted=admission.tainted)
        except (RunError, _Withdrawn) as error:
            return Outcome(kind="failed", text=str(error))
        except StepGivenUp as error:
            return Outcome(kind="failed", text=_OUTSIDE.format(reason=error))
        except StepBroken:
            return Outcome(kind="failed", text=_BROKEN.format(run=run_id))

    async def _still_admitted(self, equipment: Equipment, looks: Iterator[int]) -> None:
        """Look again, after days perhaps; for as long as GitHub is away, nothing goes on."""
        for tries in range(1, MOST_TRIES + 1):
            try:
                refusal = (await self._admit(equipment, next(looks))).refusal
                break
            except StepGivenUp as error:
                if tries == MOST_TRIES:
                    raise
                log.warning("run waits", reason=str(error), seconds=LONGEST_PAUSE)
            await asyncio.sleep(LONGEST_PAUSE)
        if refusal is not None:
            log.info("request no longer stands", rule=refusal.rule)
            why = _WITHDRAWN.get(refusal.rule, refusal.text)
            raise _Withdrawn(_STOPPED.format(why=why))

    async def _admit(self, equipment: Equipment, look: int) -> Admission:
        async def admit() -> Json:
            try:
                admission = await equipment.admit()
            except RunError as error:
                admission = _unchecked(str(error))
            except ConfigError as error:
                admission = _unchecked(f"{_OPERATOR} {error}")
            return admission.model_dump(mode="json")

        found = await equipment.ports.steps.step(f"access/{look}", admit)
        return Admission.model_validate(found or {})  # older records hold nothing of who may

    async def _work(
        self, run_id: str, request: Request, equipment: Equipment, *, tainted: bool
    ) -> Outcome:
        pipeline = PIPELINES[type(request)]
        run = Run(
            id=run_id,
            request=request,
            ports=equipment.ports,
            conversations=pipeline.conversations,
            models=self._models,
            limits=self._limits,
            noreply=self._noreply,
            tainted=tainted,
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


class _Withdrawn(Exception):
    """The request no longer stood when people had decided. The text is for them."""


_STOPPED = (
    "The run had waited for a person to decide, and was not to go on after that: {why} What waited"
    " was not done. What was committed until then was not pushed: it stays on the machine that runs"
    " Fettle. Setting the label again starts afresh."
)
_WITHDRAWN = {
    "installation-active": "the app's installation is suspended.",
    "asker-may-write": "whoever asked for it may no longer write to the repository.",
    "issue-open": "the issue was closed.",
    "label-on": "the label was taken off.",
    "text-unchanged": "somebody other than the asker edited the title or the text of the issue.",
}
_OUTSIDE = (
    "Something that Fettle depends on kept failing: {reason}. Nothing was published. Set"
    " the label again once it works; if it happens again, the operator's log says more."
)
_OPERATOR = "Fettle is not set up right, so it could not check this. Its operator has to act:"
_BROKEN = (
    "Fettle made a mistake of its own and stopped. Nothing of yours is wrong. The operator finds"
    " the details in the log under run `{run}`; setting the label again starts afresh."
)
_AGAIN = (
    "Fettle was stopped again and again while it worked on this, so it leaves it alone. The"
    " operator finds the run `{run}` in the log; setting the label again starts afresh."
)
_LOST = {
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": _AGAIN,
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


def _unchecked(text: str) -> Admission:
    return Admission(refusal=Refusal(rule="could-not-check", text=text))
