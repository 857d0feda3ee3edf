"""Conduct one run: from its place in the queue through admission and its pipeline to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

import structlog
from pydantic import ValidationError
from structlog.contextvars import bound_contextvars

from agents.errors import RunError, TransientError
from agents.loop.no_model import NOT_ABOUT_ALERTS, NoModel
from agents.policy import Effort, Policy, Tier, WorkPath
from agents.ports import Json, Steps
from agents.requests import Command, RemediateAlert, Request, command_of, request_of
from agents.run import Outcome, RunState
from app.observability.logging import keys_of
from app.observability.metrics import Metrics
from app.observability.tracing import NoTracing, Tracing, run_ended
from app.runs.admission import LONGEST_PAUSE, MOST_TRIES, Admission, Equipment, Withdrawn
from app.runs.durable_steps import LetGo, StepBroken, StepGivenUp
from app.runs.failure_text import AGAIN, BROKEN, LOST, cancel_if_uninstalled, given_up
from app.runs.lifecycle import RunLifecycle
from app.store.runs import Runs
from handlers.notifications import KINDS, Notification, notice_of

if TYPE_CHECKING:
    from agents.loop.budget import RunLimits
    from agents.run import Run

# ruff: noqa: PLC0415 - the pipelines and the loop take megabytes, which a server at rest does without

MOST_STARTS = 20
"""Starts in a row that get a run no further: then it is what brings the process down."""

log = structlog.get_logger()
T = TypeVar("T")


Equip = Callable[[str, Request], Awaitable[Equipment]]
"""Gives a run what it works with, by its id and its request."""
Obey = Callable[[Command, str], Awaitable[Json]]
"""Carries the command of this id out and returns what became of it; may be told the same again."""
Current = Callable[[Request], Awaitable[Request]]
"""Returns the same request about its repository as it is called, and reached, by now."""
LookBack = Callable[[str, Request], Awaitable[Outcome | None]]
"""Returns how the run had ended on a server whose data was lost; None where it had not."""
FindEnded = Callable[[Collection[str]], Awaitable[Mapping[str, str]]]
"""Returns those of these runs that the engine gave up or ended, each with its state there."""
Holds = Callable[[str], Awaitable[bool]]
"""Returns whether the run has a place on this worker."""
TakeNote = Callable[[Notification, str], Awaitable[Json]]
"""Follows the notice of this id and returns what became of it; may be told the same again."""


async def keep_request(request: Request) -> Request:
    """Return the request: its repository is called as it was."""
    return request


@dataclass(frozen=True)
class RunConductor:
    """Conducts runs, people's commands and notices, each handed over by the engine."""

    runs: Runs
    equip: Equip
    _: KW_ONLY
    models: Mapping[str, str]
    """The model's name by tier."""
    limits: RunLimits
    efforts: Mapping[str, Effort] = field(default_factory=dict)
    """How hard models think, by conversation, where the policy does not say it."""
    tiers: Mapping[str, Tier] = field(default_factory=dict)
    """Which of them holds a conversation, where the policy does not say it."""
    path: WorkPath = "whole"
    """How an issue becomes a change, where the policy does not say it."""
    noreply: str
    """The host of GitHub's no-reply addresses."""
    pages: str = ""
    """The address of the pages, where people can sign in to them."""
    obey: Obey | None = None
    take_note: TakeNote | None = None
    current: Current = keep_request
    tracing: Tracing = field(default_factory=NoTracing)
    ended_before: LookBack | None = None
    worker: str = ""
    """The name of the worker that this is."""
    holds: Holds | None = None
    """None: there is but one run, and nobody else who could have it."""
    metrics: Metrics = field(default_factory=Metrics)

    async def conduct(self, run_id: str, request_json: Json, steps: Steps) -> Json:
        """Do the whole run and return its outcome; called again after a crash, it goes on."""
        kind = request_json["kind"] if isinstance(request_json, dict) else None
        with self.tracing.follow(run_id), bound_contextvars(**keys_of(run_id, request_json)):
            if kind == "command":
                return await self._obey(run_id, request_json, steps)
            if kind in KINDS:
                return await self._take_note(run_id, request_json, steps)
            with bound_contextvars(run=run_id):
                outcome = await self._resume_or_start(run_id, request_json, steps)
            return outcome.model_dump(mode="json")

    async def end_lost(self, find_ended: FindEnded) -> None:
        """End, for people too, the runs that the engine gave up without asking anybody."""
        unfinished = await self.runs.list_unfinished()
        while unfinished:
            for run_id, state in (await find_ended(unfinished)).items():
                with bound_contextvars(run=run_id):
                    log.error("run lost", state=state)
                    text = LOST.get(state, BROKEN).format(run=run_id)
                    await self._end(run_id, await self.runs.request(run_id), text)
            unfinished = await self.runs.list_unfinished(after=unfinished[-1])

    # --- commands and notices -------------------------------------------------------------------

    async def _obey(self, ident: str, command_json: Json, steps: Steps) -> Json:
        """Carry a command out: it is a person's decision."""
        obey = self.obey
        assert obey is not None, "nobody here carries out commands"

        async def carry_out() -> Json:
            return await obey(_read(command_of, command_json), ident)

        return await _retry_for_hours("command", carry_out, steps)

    async def _take_note(self, ident: str, notice_json: Json, steps: Steps) -> Json:
        """Have a notice followed."""
        take_note = self.take_note
        assert take_note is not None, "nobody here takes notices"

        async def follow() -> Json:
            return await take_note(_read(notice_of, notice_json), ident)

        return await _retry_for_hours("notice", follow, steps)

    # --- runs -----------------------------------------------------------------------------------

    async def _resume_or_start(self, run_id: str, request_json: Json, steps: Steps) -> Outcome:
        known = await _insist(lambda: self.runs.outcome(run_id))
        if known is not None:  # the process died after the end, before the engine knew of it
            return known
        holds = self.holds
        if holds is not None and not await _insist(lambda: holds(run_id)):
            raise LetGo  # an older version queued it, or others have taken it over
        if await _insist(lambda: self.runs.record_start(run_id, self.worker)) > MOST_STARTS:
            log.error("run put aside", starts=MOST_STARTS)
            return await self._end(run_id, request_json, AGAIN.format(run=run_id))
        try:
            asked = request_of(request_json)
            request = await _insist(lambda: self.current(asked))
            with bound_contextvars(repository=request.repository.full_name):
                restored = await self._restore(run_id, request)
                return restored or await self._run_admitted(run_id, request, steps)
        except Exception:  # a history that newer code cannot follow, or a mistake of ours
            log.exception("run broke")
            self.metrics.blame["maintainer"]()
            return await self._end(run_id, request_json, BROKEN.format(run=run_id))

    async def _restore(self, run_id: str, request: Request) -> Outcome | None:
        """Return how it ended before, and note it, so that nothing of it is done again."""
        look = self.ended_before
        if look is None or (found := await _insist(lambda: look(run_id, request))) is None:
            return None
        await _insist(lambda: self.runs.record_end(run_id, found))
        return found

    async def _run_admitted(self, run_id: str, request: Request, steps: Steps) -> Outcome:
        """Do the run if it may begin, and show how it ended."""
        # A thread imports all that works on a run; the loop goes on meanwhile.
        await asyncio.to_thread(import_module, "agents.pipelines.registry")
        equipment = await _insist(lambda: self.equip(run_id, request))
        # Most alerts need no model: those that do ask for it when code has come to its end.
        models = None if isinstance(request, RemediateAlert) else self.models
        lifecycle = RunLifecycle(run_id, equipment, steps, self.runs, models, metrics=self.metrics)
        try:
            try:
                admission = await lifecycle.admit()
                outcome = admission.ending
                if outcome is None:
                    run = self._make_run(run_id, request, equipment, lifecycle, admission)
                    outcome = await self._run_pipeline(run)
            except Withdrawn as withdrawn:
                outcome = withdrawn.outcome
            except RunError as error:
                outcome = Outcome(kind="failed", text=str(error))
            except (StepGivenUp, StepBroken) as error:
                self.metrics.blame["service" if isinstance(error, StepGivenUp) else "maintainer"]()
                outcome = Outcome(kind="failed", text=given_up(error, run_id))
            steering, failed = equipment.ports.steering, outcome
            outcome = await _insist(lambda: cancel_if_uninstalled(failed, steering))
            await self._finish(run_id, equipment, lifecycle, outcome)
        finally:
            await equipment.close()
        return outcome

    def _make_run(
        self,
        run_id: str,
        request: Request,
        equipment: Equipment,
        lifecycle: RunLifecycle,
        admission: Admission,
    ) -> Run:
        from agents.pipelines.registry import PIPELINES
        from agents.run import Run, StageContext

        given = admission.policy
        policy = given.policy() if given is not None else Policy()
        chosen, ports = policy.models, replace(equipment.ports, reporter=lifecycle)
        if isinstance(request, RemediateAlert) and policy.remediation.models == "none":
            ports = replace(ports, model=NoModel(NOT_ABOUT_ALERTS))
        context = StageContext(
            id=run_id,
            request=request,
            ports=ports,
            steps=lifecycle,
            conversations=PIPELINES[type(request)].conversations,
            given=given,
            models={**self.models, **chosen.named},
            efforts={**self.efforts, **chosen.efforts},
            tiers={**self.tiers, **chosen.chosen_tiers},
            path=self.path,
            limits=self.limits,
            noreply=self.noreply,
            pages=self.pages,
            standing=RunState(tainted=admission.tainted),
        )
        return Run(context)

    async def _run_pipeline(self, run: Run) -> Outcome:
        from agents.pipelines.registry import PIPELINES
        from agents.pipelines.stages.save_unfinished import EarlyEnd

        context = run.context
        pipeline = PIPELINES[type(context.request)]
        try:
            return await pipeline.work(run, context.request)
        except (StepGivenUp, StepBroken) as error:
            if (
                context.stopping or not context.trunk
            ):  # keeping is what failed, or there is nothing yet
                raise
            return await pipeline.keep(
                run, EarlyEnd(kind="failed", text=given_up(error, context.id))
            )

    async def _finish(
        self, run_id: str, equipment: Equipment, steps: Steps, outcome: Outcome
    ) -> None:
        async def finish() -> Json:
            await equipment.finish(outcome)
            self.metrics.run_ended(outcome.kind, await self.runs.record_end(run_id, outcome))
            return True

        try:
            await steps.step("finish/1", finish)
        except (StepGivenUp, StepBroken) as error:
            log.warning("could not report the end of the run", reason=str(error))
            await _insist(lambda: self.runs.record_end(run_id, outcome))
        log.info("run ended", outcome=outcome.kind, text=outcome.text)
        run_ended(run_id, "run", fettle__run=run_id, fettle__outcome=outcome.kind)

    async def _end(self, run_id: str, request_json: Json, text: str) -> Outcome:
        """End a run as failed, without the engine's help; one that ended already stays as it is."""
        if (known := await _insist(lambda: self.runs.outcome(run_id))) is not None:
            return known
        outcome = Outcome(kind="failed", text=text)
        try:
            request = await self.current(request_of(request_json))
            equipment = await self.equip(run_id, request)
            try:
                await equipment.finish(outcome)
            finally:
                await equipment.close()
        except Exception:
            log.exception("could not report the end of the run")
        await _insist(lambda: self.runs.record_end(run_id, outcome))
        return outcome


async def _retry_for_hours(name: str, work: Callable[[], Awaitable[Json]], steps: Steps) -> Json:
    """Do it in steps of this name, however long GitHub cannot be reached."""
    for number in range(1, MOST_TRIES + 1):
        try:
            return await steps.step(f"{name}/{number}", work)
        except StepGivenUp as error:
            log.warning("not carried out yet", what=name, reason=str(error))
        await asyncio.sleep(LONGEST_PAUSE)
    return {"failed": "given up"}


def _read(read: Callable[[Json], T], stored: Json) -> T:
    """Return what is stored. Raises TransientError where this version does not know it.

    While an update rolls, a newer worker queues it for all; this one ends, and leaves it behind.
    """
    try:
        return read(stored)
    except ValidationError as error:
        raise TransientError("a newer version of Fettle asked for it, and will do it") from error


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
