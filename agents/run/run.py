"""A run: its stages done once and remembered, its waits, its end by error or by people."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import ParamSpec, TypeVar

from agents.errors import Cancelled, ConfigError, NotYet, Overloaded, Parked, RunError
from agents.ports import Json, Steer
from agents.run.stage import Stage
from agents.run.stage_context import Workshop
from agents.run.state import Question, Record, Standing
from agents.text import printable

P = ParamSpec("P")
Out = TypeVar("Out")

SHORTEST_PAUSE, LONGEST_PAUSE = 60.0, 3600.0
"""Seconds for which a server without room is left alone, whatever it says."""
DOUBLINGS = 4  # of the pause, when the server does not say how long
MOST_PAUSES = 100  # of one stage: a day or more


@dataclass(kw_only=True)
class Run(Workshop):
    """What a pipeline sees. Only `stage` changes it, so a replay finds it unchanged."""

    stopping: bool = False
    """The run is at its end: what is done now, nobody calls back any more."""
    _seen: Counter[str] = field(default_factory=Counter)
    waits: int = 0
    """How often the stage at work has waited."""
    _lets_out: bool = False
    _performed: bool = False
    """This process does the stage, or has done it; else it is replayed."""

    def lets_out(self) -> None:
        """Note that people see what the stage does from here on: a cancel does not cut it off."""
        self._lets_out = True

    async def stage(self, stage: Stage[P, Out], *inputs: P.args, **named: P.kwargs) -> Out:
        """Do the stage, or return what it returned before the process died."""
        self._seen[stage.name] += 1
        occurrence = f"{stage.name}/{self._seen[stage.name]}"

        name, self.waits = f"stage/{occurrence}", 0
        work = partial(stage.work, self, *inputs, **named)
        perform = partial(self._perform, occurrence, stage, work)
        if not self.stopping:
            self.left_by = occurrence
        self._performed = False
        record = self._read(await self.steps.step(name, perform), occurrence, stage.title)
        while record.waits:
            self.waits += 1
            self.standing = record.standing
            self.let_go()  # made again when needed
            await self._wait(record, occurrence)
            self._performed = False
            again = await self.steps.step(f"{name}~{self.waits}", perform)
            record = self._read(again, occurrence, stage.title)
        # An earlier run's record, taken up by this one, knows nothing of who asked this time.
        tainted = self.standing.tainted or record.standing.tainted
        self.standing = record.standing.model_copy(update={"tainted": tainted})
        if record.error is not None:
            raise _ERRORS.get(record.error_kind or "", RunError)(record.error)
        if record.toolsets is not None and self.ports.toolsets:
            self.ports.toolsets.recall(record.toolsets)
        if not self.stopping:
            self.left_by = ""
        return stage.output.validate_python(record.output)

    async def answer(self, question: Question) -> bool:
        """Wait until somebody answers on the issue; return whether anybody did in time."""
        steering = self.ports.steering
        if steering is None or not question.waits:
            return False

        async def answered() -> bool:
            said = await steering.since(question.asked_after)
            return any(steer.kind in ("go", "remark") for steer in said)

        async def over() -> bool:
            late = self.wall() >= question.until
            return late or await answered() or await self._called_back() is not None

        self.let_go()
        self.ports.reporter.paused(self.current, "an answer on the issue")
        steps, number = self.steps, question.number
        await steps.wait(f"answer/{number}", over, until=question.until)
        return bool(await steps.step(f"answered/{number}", answered))

    # --- a stage, done once ---------------------------------------------------------------------

    async def _wait(self, record: Record, occurrence: str) -> None:
        """Wait for what the stage needs before it is done once more."""
        reporter, steps = self.ports.reporter, self.steps
        if record.parked:
            reporter.parked(occurrence, record.parked)
            over = partial(self._decided, record.parked)
            await steps.wait(f"approval/{occurrence}/{self.waits}", over)
            return
        reporter.paused(occurrence, record.summary)
        over = partial(self._rested, record.paused_until)
        name = f"pause/{occurrence}/{self.waits}"
        await steps.wait(name, over, until=record.paused_until)

    async def _decided(self, approvals: Sequence[str]) -> bool:
        port = self.ports.approvals
        settled = port is None or await port.settled(approvals)
        return settled or await self._called_back() is not None

    async def _rested(self, until: float) -> bool:
        return self.wall() >= until or await self._called_back() is not None

    def _read(self, done: Json, occurrence: str, title: str) -> Record:
        """Return a stage's record; people are told of it unless they heard when it was done."""
        record = Record.model_validate(done)
        if not self._performed:  # an earlier process did it: this one's reporter has not heard
            self.current = occurrence
            self.ports.reporter.stage_started(occurrence, title)
            if not record.waits:
                self.ports.reporter.stage_finished(occurrence, record.error or record.summary)
        return record

    async def _perform(
        self, occurrence: str, stage: Stage[P, Out], work: Callable[[], Awaitable[Out]]
    ) -> Json:
        before, self._performed = self.standing, True
        self.current, self.summary, self._began = occurrence, "", self.clock()
        self._permitted, self.learned = {}, None
        self._lets_out = False
        self.ports.reporter.stage_started(occurrence, stage.title)
        try:
            output = await self._unless_called_back(work)
        except (RunError, ConfigError, Cancelled) as error:
            record = self._failed(error, before)
        except BaseException as stopped:
            # The stage will be done again from its start; what was said and made is found there.
            self.standing = before
            if (waiting := self._waiting(stopped)) is None:
                raise
            record = waiting
        else:
            record = self._record(stage.output.dump_python(output, mode="json"))
        if not record.waits:
            self.ports.reporter.stage_finished(occurrence, record.error or self.summary)
        return record.model_dump(mode="json")

    def _record(self, output: Json) -> Record:
        self.stands(worked=self._worked)
        return Record(
            output=output, summary=self.summary, standing=self.standing, toolsets=self.learned
        )

    def _failed(self, error: RunError | ConfigError | Cancelled, before: Standing) -> Record:
        self.standing = before
        text = f"{_OPERATOR} {error}" if isinstance(error, ConfigError) else str(error)
        return Record(
            # Error texts name files, whose names need not be text.
            error=printable(text),
            error_kind=type(error).__name__,
            standing=before.model_copy(update={"worked": self._worked}),
        )

    def _waiting(self, stopped: BaseException) -> Record | None:
        """Return the record of a stage that waits and is done again then, if that is what it is."""
        standing = self.standing.model_copy(update={"worked": self._worked})
        if isinstance(stopped, Parked):
            return Record(parked=stopped.approvals, standing=standing)
        if isinstance(stopped, Overloaded):
            if self.waits >= MOST_PAUSES:
                error = RunError(_NO_ROOM.format(reason=stopped))
                return self._failed(error, self.standing)
            pause = stopped.retry_after or SHORTEST_PAUSE * 2 ** min(self.waits, DOUBLINGS)
            pause = min(max(pause, SHORTEST_PAUSE), LONGEST_PAUSE)
            until = self.wall() + pause
            at = datetime.fromtimestamp(until, UTC)
            why = f"the model's server, until {at:%H:%M} UTC: {printable(str(stopped))}"
            return Record(paused_until=until, summary=why, standing=standing)
        if isinstance(stopped, NotYet):
            until = self.wall() + stopped.seconds
            return Record(paused_until=until, summary=str(stopped), standing=standing)
        return None

    # --- called back by people ------------------------------------------------------------------

    @property
    def _past_recall(self) -> bool:
        return self.stopping or self.pushed

    async def _called_back(self) -> Steer | None:
        """Return by whom the run was cancelled, if anybody did."""
        steering = self.ports.steering
        if steering is None or self._past_recall:
            return None
        said = await steering.since()
        return next((steer for steer in said if steer.kind == "cancel"), None)

    async def _unless_called_back(self, work: Callable[[], Awaitable[Out]]) -> Out:
        """Do the work, and stop it where it is when somebody cancels the run. Raises Cancelled."""
        steering = self.ports.steering
        if steering is None or self._past_recall:
            return await work()
        if (steer := await self._called_back()) is not None:
            raise Cancelled(_cancelled(steer))
        working, calling = (
            asyncio.ensure_future(work()),
            asyncio.ensure_future(steering.cancelled()),
        )
        try:
            await asyncio.wait({working, calling}, return_when=asyncio.FIRST_COMPLETED)
            if not (working.done() or self._lets_out) and calling.exception() is None:
                raise Cancelled(_cancelled(calling.result()))
            return await working
        finally:
            working.cancel()  # a command at work is killed with all that it started
            calling.cancel()
            await asyncio.gather(working, calling, return_exceptions=True)


def _cancelled(steer: Steer) -> str:
    how = _HOW[steer.via].format(by=f"`{steer.by}`")
    why = f": {printable(steer.words)}" if steer.words.strip() else "."
    return f"{how}{why}"


_HOW = {
    "comment": "{by} cancelled the run",
    "label": "{by} took the label off",
    "issue": "{by} closed the issue",
    "pull_request": "{by} closed the pull request",
    "terminal": "{by} cancelled the run on the machine that it ran on",
    "alert": "Its alerts were closed",
    "installation": "Fettle may not work there any more",
}
_NO_ROOM = (
    "The model's server had no room for this run again and again, for hours: {reason} Write"
    " `/bot retry` once it has."
)
_OPERATOR = "Fettle is not set up right, so the run stopped. Its operator has to act:"
_KINDS: list[type[BaseException]] = [Cancelled, *RunError.__subclasses__()]
_ERRORS = {kind.__name__: kind for kind in _KINDS}
