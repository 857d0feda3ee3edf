"""The life of one run between the engine and its stages: progress, waits, and admission."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import count

import structlog
from structlog.contextvars import bound_contextvars

from agents.errors import ConfigError, RunError
from agents.ports import Json, Reporter, Steps, Usage
from app.observability.metrics import Metrics
from app.observability.tracing import span
from app.runs.admission import (
    LONGEST_PAUSE,
    MOST_TRIES,
    Admission,
    Equipment,
    Withdrawn,
    describe_cancel,
    end_withdrawn,
    refuse_misconfigured,
    refuse_unchecked,
    require_models,
)
from app.runs.durable_steps import PutOff, StepGivenUp
from app.store.runs import LOOKS, Runs

STAGE = "stage/"
_AWAY = "something that Fettle depends on: {reason}"

log = structlog.get_logger()


class RunLifecycle:
    """The ports `Steps` and `Reporter` of one run.

    A step is noted in the run's row when it begins. A run that waits for people is noted as
    parked, and what can be made again is let go of. When it has waited, GitHub is asked whether
    the run may go on.

    A run that waits is replayed at every start of the server. What an earlier process has told
    people is held back until the run does something new: telling the same once more would ask
    GitHub about each of perhaps a thousand comments.

    `models`: the operator's, by tier, where the policy names no others; None for a run that may
    well end without any.
    """

    def __init__(
        self,
        run_id: str,
        equipment: Equipment,
        steps: Steps,
        runs: Runs,
        models: Mapping[str, str] | None,
        *,
        metrics: Metrics,
    ) -> None:
        self._run_id = run_id
        self._equipment = equipment
        self._steps = steps
        self._runs = runs
        self._models = models
        self._metrics = metrics
        self._retry = equipment.retry(self, self) if equipment.retry is not None else None
        self._looks = count(1)
        self._reporter: Reporter = equipment.ports.reporter
        self._held: list[Callable[[], None]] | None = []
        self._recovered = False
        """What earlier processes have made is here."""

    # --- the port Steps -------------------------------------------------------------------------

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:
        """Have it done, and note that it began. Raises StepGivenUp or StepBroken."""
        if self._retry is not None:
            work = await self._retry.replace_work(name, work)

        async def record_start() -> Json:
            if not self._recovered and not name.startswith(LOOKS):
                await self._equipment.recover()
                self._recovered = True
            self._release()
            await self._runs.record_stage(self._run_id, name)
            with bound_contextvars(stage=name), span(name):
                began = time.monotonic()
                result = await work()
                seconds = time.monotonic() - began
                self._metrics.stage_worked(name, seconds)
                log.info("step done", seconds=round(seconds, 1))
                return result

        try:
            return await self._steps.step(name, record_start)
        except PutOff as put_off:
            self._release()
            log.warning("run put off", step=name, reason=str(put_off))
            if name.startswith(STAGE):
                stage = name.removeprefix(STAGE).partition("~")[0]
                self._reporter.report_pause(stage, _AWAY.format(reason=put_off))
            raise

    async def wait(
        self, name: str, over: Callable[[], Awaitable[bool]], *, until: float | None = None
    ) -> None:
        """Wait; unless it is over at once, park the run. Raises Withdrawn when it may not go on."""
        parked = False
        if self._retry is not None:
            over = await self._retry.replace_wait(name, over)

        async def look_or_park() -> bool:
            nonlocal parked
            heard = await self._runs.last_steer(self._run_id)  # what is said from now on wakes it
            if await over():
                return True
            if not parked:
                await self._park(name, wake_at=until, heard=heard)
                parked = True
            return False

        await self._steps.wait(name, look_or_park, until=until)
        await self._readmit()

    async def boundary(self) -> None:
        """Let the stage pass, unless the engine is draining."""
        await self._steps.boundary()

    async def _park(self, name: str, *, wake_at: float | None, heard: int) -> None:
        if not await self._runs.is_parked(self._run_id):  # else an earlier process told people
            self._release()
            log.info("run parked", waits=name)
        try:
            await self._equipment.rest()
        except Exception:  # it only holds more than it needs to
            log.exception("could not put everything away")
        self._recovered = False  # mirrors may go meanwhile
        waits = name.partition("/")[0]
        await self._runs.record_parked(self._run_id, waits, wake_at=wake_at, heard=heard)

    # --- admission ------------------------------------------------------------------------------

    async def admit(self) -> Admission:
        """Return whether the run may begin, or go on. Raises StepGivenUp.

        Whether it was cancelled is a part of what is recorded: when the process dies, the next
        one takes the same way through the same steps, whatever was said meanwhile.
        """

        async def admit() -> Json:
            steering = self._equipment.ports.steering
            said = await steering.list_after() if steering is not None else ()
            cancel = next((steer for steer in said if steer.kind == "cancel"), None)
            if cancel is not None:
                return Admission(cancelled=describe_cancel(cancel)).model_dump(mode="json")
            try:
                admission = await self._equipment.admit()
                if first and admission.ending is None:
                    await self._require_models(admission)
            except RunError as error:
                admission = refuse_unchecked(error)
            except ConfigError as error:
                self._metrics.blame["operator"]()
                admission = refuse_misconfigured(error)
            return admission.model_dump(mode="json")

        look = next(self._looks)
        first = look == 1
        found = await self.step(f"{LOOKS}{look}", admit)
        # Older records hold nothing of who may, newer ones perhaps more.
        return Admission.model_validate(found or {}, extra="ignore")

    async def _require_models(self, admission: Admission) -> None:
        """Have a key that is refused, or a model without a price, found before work begins."""
        if self._models is None:
            return
        named = admission.policy.policy().models.named if admission.policy else {}
        model = self._equipment.ports.model
        await require_models(model, {**self._models, **named}.values())

    async def _readmit(self) -> None:
        """Look again, after days perhaps; for as long as GitHub is away, nothing goes on.

        A run that was cancelled goes on: it puts away itself what it has made.
        """
        for tries in range(1, MOST_TRIES + 1):
            try:
                refusal = (await self.admit()).refusal
                break
            except StepGivenUp as error:
                if tries == MOST_TRIES:
                    raise
                log.warning("run waits", reason=str(error), seconds=LONGEST_PAUSE)
            await asyncio.sleep(LONGEST_PAUSE)
        if refusal is not None:
            log.info("request no longer stands", rule=refusal.rule)
            raise Withdrawn(end_withdrawn(refusal))

    # --- the port Reporter ----------------------------------------------------------------------

    def stage_started(self, stage: str, title: str) -> None:
        """Report it, or hold it back until the run does something new."""
        self._tell(partial(self._reporter.stage_started, stage, title))

    def stage_finished(self, stage: str, summary: str) -> None:
        """Report it, or hold it back until the run does something new."""
        self._tell(partial(self._reporter.stage_finished, stage, summary))

    def tool_called(self, stage: str, tool: str, subject: str) -> None:
        """Report it, or hold it back until the run does something new."""
        self._tell(partial(self._reporter.tool_called, stage, tool, subject))

    def report_spending(self, usage: Usage, cost_usd: float, answers: int) -> None:
        """Report it, or hold it back until the run does something new."""
        self._tell(partial(self._reporter.report_spending, usage, cost_usd, answers))

    def report_parked(self, stage: str, approvals: Sequence[str]) -> None:
        """Report it, or hold it back until the run does something new."""
        self._tell(partial(self._reporter.report_parked, stage, approvals))

    def report_pause(self, stage: str, why: str) -> None:
        """Report it, or hold it back until the run does something new."""
        self._tell(partial(self._reporter.report_pause, stage, why))

    def _tell(self, tell: Callable[[], None]) -> None:
        if self._held is None:
            tell()
        else:
            self._held.append(tell)

    def _release(self) -> None:
        """Tell all that was held back, and from now on everything at once: the run goes on."""
        held, self._held = self._held or [], None
        for tell in held:
            tell()
