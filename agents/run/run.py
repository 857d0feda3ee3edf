"""A run: its stages done once and remembered, its waits, its end by error or by people."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from agents.errors import BaitTaken, Cancelled, ConfigError, RunError, Unneeded
from agents.ports import Json, Steer
from agents.requests import Request
from agents.run.stage import PartResult, Stage
from agents.run.stage_context import StageContext
from agents.run.state import Question, StageRecord
from agents.text import printable

P = ParamSpec("P")
Out = TypeVar("Out")


@dataclass
class Run:
    """What a pipeline sees. Only `stage` changes it, so a replay finds it unchanged."""

    context: StageContext
    """What the stages work with."""
    _seen: Counter[str] = field(default_factory=Counter)
    _performed: bool = False
    """This process has done the stage; else its record is an earlier one's."""

    @property
    def id(self) -> str:
        """Return the run's id."""
        return self.context.id

    @property
    def request(self) -> Request:
        """Return what was asked for."""
        return self.context.request

    @property
    def base(self) -> str:
        """Return the commit that the change is compared with; empty before `prepare`."""
        return self.context.base

    @property
    def head(self) -> str:
        """Return the newest commit of the run."""
        return self.context.head

    @property
    def unchanged(self) -> bool:
        """Return whether the run has committed nothing so far."""
        return self.context.unchanged

    def stop(self) -> None:
        """Begin the run's end: what is done from now on, nobody calls back any more."""
        self.context.stop()

    async def stage(self, stage: Stage[P, Out], *inputs: P.args, **named: P.kwargs) -> Out:
        """Do the stage, or return what it returned before the process died."""
        context = self.context
        self._seen[stage.name] += 1
        occurrence = f"{stage.name}/{self._seen[stage.name]}"
        work = partial(stage.work, context, *inputs, **named)
        perform = partial(self._perform, occurrence, stage, work)
        name = f"stage/{occurrence}"
        context.enter(occurrence)
        self._performed = False
        record = self._read(await context.steps.step(name, perform), occurrence, stage.title)
        while record.waits:
            context.rest(record.standing)
            await self._wait(record, occurrence)
            self._performed = False
            again = await context.steps.step(f"{name}~{context.waits}", perform)
            record = self._read(again, occurrence, stage.title)
        context.take_over(record.standing)
        if record.error is not None:
            raise _ERRORS.get(record.error_kind or "", RunError)(record.error)
        if record.toolsets is not None and context.ports.toolsets:
            context.ports.toolsets.recall(record.toolsets)
        context.leave()
        return stage.output.validate_python(record.output, extra="ignore")

    async def attempt(
        self,
        part: Callable[Concatenate[Run, P], Awaitable[Out]],
        *inputs: P.args,
        **named: P.kwargs,
    ) -> PartResult[Out]:
        """Do a part of the pipeline, whose failure need not end the run. Raises BaitTaken."""
        try:
            return PartResult(await part(self, *inputs, **named))
        except BaitTaken:  # nothing of such a run is worth having
            raise
        except RunError as error:
            return PartResult(None, error, self.context.left_by)

    async def answer(self, question: Question) -> bool:
        """Wait until somebody answers on the issue; return whether anybody did in time."""
        context = self.context
        steering = context.ports.steering
        if steering is None or not question.waits:
            return False

        async def has_answer() -> bool:
            said = await steering.list_after(question.asked_after)
            return any(steer.kind in ("go", "remark") for steer in said)

        async def is_over() -> bool:
            late = context.wall() >= question.until
            return late or await has_answer() or await self._find_cancel() is not None

        context.let_go()
        context.ports.reporter.report_pause(context.current, "an answer on the issue")
        number = question.number
        await context.steps.wait(f"answer/{number}", is_over, until=question.until)
        return bool(await context.steps.step(f"answered/{number}", has_answer))

    # --- a stage, done once ---------------------------------------------------------------------

    async def _perform(
        self, occurrence: str, stage: Stage[P, Out], work: Callable[[], Awaitable[Out]]
    ) -> Json:
        context, reporter = self.context, self.context.ports.reporter
        before, self._performed = context.standing, True
        context.begin(occurrence)
        reporter.stage_started(occurrence, stage.title)
        try:
            output = await self._unless_called_back(work)
        except (RunError, ConfigError, Cancelled) as error:
            waiting = context.record_wait(error, before)
            record = waiting or context.record_failure(error, before)
        except BaseException as stopped:
            # The stage will be done again from its start; what was said and made is found there.
            if (waiting := context.record_wait(stopped, before)) is None:
                raise
            record = waiting
        else:
            record = context.record(stage.output.dump_python(output, mode="json"))
        if not record.waits:
            reporter.stage_finished(occurrence, record.error or context.summary)
        return record.model_dump(mode="json")

    def _read(self, done: Json, occurrence: str, title: str) -> StageRecord:
        """Return a stage's record; people are told of it unless they heard when it was done."""
        record = StageRecord.model_validate(done, extra="ignore")  # a newer worker may have made it
        if not self._performed:  # an earlier process did it: this one's reporter has not heard
            self.context.replay(occurrence)
            reporter = self.context.ports.reporter
            reporter.stage_started(occurrence, title)
            if not record.waits:
                reporter.stage_finished(occurrence, record.error or record.summary)
        return record

    async def _wait(self, record: StageRecord, occurrence: str) -> None:
        """Wait for what the stage needs before it is done once more."""
        reporter, steps, times = self.context.ports.reporter, self.context.steps, self.context.waits
        if record.parked:
            reporter.report_parked(occurrence, record.parked)
            over = partial(self._is_decided, record.parked)
            await steps.wait(f"approval/{occurrence}/{times}", over)
            return
        reporter.report_pause(occurrence, record.summary)
        over = partial(self._has_rested, record.paused_until)
        await steps.wait(f"pause/{occurrence}/{times}", over, until=record.paused_until)

    async def _is_decided(self, approvals: Sequence[str]) -> bool:
        port = self.context.ports.approvals
        settled = port is None or await port.all_decided(approvals)
        return settled or await self._find_cancel() is not None

    async def _has_rested(self, until: float) -> bool:
        return self.context.wall() >= until or await self._find_cancel() is not None

    # --- called back by people ------------------------------------------------------------------

    async def _find_cancel(self) -> Steer | None:
        """Return by whom the run was cancelled, if anybody did."""
        steering = self.context.ports.steering
        if steering is None or self.context.past_recall:
            return None
        said = await steering.list_after()
        return next((steer for steer in said if steer.kind == "cancel"), None)

    async def _unless_called_back(self, work: Callable[[], Awaitable[Out]]) -> Out:
        """Do the work, and stop it where it is when somebody cancels the run. Raises Cancelled."""
        steering = self.context.ports.steering
        if steering is None or self.context.past_recall:
            return await work()
        if (steer := await self._find_cancel()) is not None:
            raise _cancelled_by(steer)
        working, calling = (
            asyncio.ensure_future(work()),
            asyncio.ensure_future(steering.wait_for_cancel()),
        )
        try:
            await asyncio.wait({working, calling}, return_when=asyncio.FIRST_COMPLETED)
            if not (working.done() or self.context.shown) and calling.exception() is None:
                raise _cancelled_by(calling.result())
            return await working
        finally:
            working.cancel()  # a command at work is killed with all that it started
            calling.cancel()
            await asyncio.gather(working, calling, return_exceptions=True)


def _cancelled_by(steer: Steer) -> Cancelled:
    return (Unneeded if steer.via == "alert" else Cancelled)(_describe(steer))


def _describe(steer: Steer) -> str:
    """Return by whom and how the run was cancelled, for people."""
    how = _HOW[steer.via].format(by=f"`{steer.by}`")
    words = printable(steer.words).strip()
    why = f": {words}" if words else ""
    return f"{how}{why}" if words.endswith(_ENDS) else f"{how}{why}."  # a sentence follows it


_ENDS = (".", "!", "?", "…")
_HOW = {
    "comment": "{by} cancelled the run",
    "label": "{by} took the label off",
    "relabel": "{by} put the label on again, and another run does the work",
    "issue": "{by} closed the issue",
    "pull_request": "{by} closed the pull request",
    "terminal": "{by} cancelled the run on the machine that it ran on",
    "page": "{by} cancelled the run on Fettle's page",
    "alert": "Its alerts were closed",
    "installation": "Fettle may not work there any more",
}


def _list_kinds(kind: type[BaseException]) -> list[type[BaseException]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _list_kinds(below))]


_KINDS: list[type[BaseException]] = [*_list_kinds(Cancelled), *_list_kinds(RunError)]
_ERRORS = {kind.__name__: kind for kind in _KINDS}
