"""Evaluate cases: fetch, see that the case holds, attempt it, judge; one broken case stops none."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from agents.errors import ConfigError, FettleError
from agents.text import one_line, printable
from app.config.settings import Settings, process_environment
from app.demo.folders import forget_old
from app.evaluation.attempt import Attempt, AttemptOutput
from app.evaluation.case import Case, name_of, read_case
from app.evaluation.case_repository import CaseRepository, make_repository
from app.evaluation.result import CaseResult, Evaluation
from app.evaluation.run_hidden_tests import CommitJudge
from app.evaluation.sources import FetchedCase, fetch
from app.evaluation.verdict import EvaluationVerdict, TestOutcomes, compare, find_unsound
from app.sandbox.path_permissions import make_passable, require_reach
from app.sandbox.port import Sandbox
from app.sandbox.select import choose
from app.simulator.model import LocalModel

ROOM, CACHE, RUNS, BASE = "evaluation", "cache", "runs", "base"


@dataclass(frozen=True)
class EvaluationPlan:
    """What to evaluate, and how."""

    cases: Sequence[Path]
    repeat: int = 1
    at_once: int = 1
    scripted: bool = False
    """Whether the local model answers, from each case's script."""


@dataclass(frozen=True)
class PreparedCase:
    """A case that holds here, with what each attempt at it needs."""

    fetched: FetchedCase
    judging: CommitJudge
    before: TestOutcomes


@dataclass
class Evaluator:
    """One evaluation."""

    settings: Settings
    plan: EvaluationPlan
    tell: Callable[[str], None]
    """Hears in words how it goes."""
    _place: Path = Path()
    """The folder of all attempts."""

    async def run(self) -> Evaluation:
        """Do all attempts, and return what they came to. Raises ConfigError for the machine."""
        os.umask(0o022)  # sandboxes run as another user, and read much of what is made here
        runs = self.settings.data_dir / ROOM / RUNS
        make_passable(runs)
        make_passable(self._cache)
        await asyncio.to_thread(forget_old, runs)
        self._place = runs / f"{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1000:03}"
        make_passable(self._place)
        sandbox = await choose(self.settings)
        require_reach([self._place], sandbox.owner)
        turn = asyncio.Semaphore(self.plan.at_once)
        done = await asyncio.gather(
            *(self._case(folder, sandbox, turn) for folder in self.plan.cases)
        )
        model = "script" if self.plan.scripted else self.settings.model
        return Evaluation(model, [result for results in done for result in results])

    @property
    def _cache(self) -> Path:
        return self.settings.data_dir / ROOM / CACHE

    async def _case(
        self, folder: Path, sandbox: Sandbox, turn: asyncio.Semaphore
    ) -> Sequence[CaseResult]:
        """Return the results of one case."""
        name = name_of(folder)
        try:
            async with turn:
                prepared = await self._prepare(folder, sandbox)
        except Exception as error:  # noqa: BLE001 one broken case must not stop the others
            self.tell(f"{name}: broken: {_reason(error)}")
            return [CaseResult(name, 1, "broken", (_reason(error),))]
        numbers = range(1, self.plan.repeat + 1)
        return await asyncio.gather(*(self._attempt(prepared, n, turn) for n in numbers))

    async def _prepare(self, folder: Path, sandbox: Sandbox) -> PreparedCase:
        """Return the case with all it needs. Raises ConfigError when it does not hold here."""
        case = read_case(folder)
        if self.plan.scripted and case.script is None:
            raise ConfigError(f"It brings no script for the local model ({case.about.script}).")
        self.tell(f"{case.name}: fetching what it is made of, and seeing that it holds here")
        fetched = await fetch(case, self._cache)
        place = self._place / case.name
        make_passable(place)
        repository = await make_repository(fetched, place / BASE)
        judging = CommitJudge(fetched, repository, sandbox, place)
        before, cured = (
            await judging.commit(judging.repository.base),
            await judging.run_on_fixed_source(),
        )
        if problems := find_unsound(case.about.judge, before, cured):
            raise ConfigError(f"The case does not hold on this machine: {'; '.join(problems)}.")
        return PreparedCase(fetched, judging, before)

    async def _attempt(
        self, prepared: PreparedCase, number: int, turn: asyncio.Semaphore
    ) -> CaseResult:
        """Return what one attempt came to."""
        case, repeat = prepared.fetched.case, self.plan.repeat
        name = f"{case.name} {number}/{repeat}" if repeat > 1 else case.name
        place = self._place / case.name / str(number)
        try:
            async with turn:
                make_passable(place)
                repository = await prepared.judging.repository.copy_to(place / case.name)
                ended = await self._run(prepared, repository, place, name)
                verdict = await _judge(prepared, repository, ended)
        except Exception as error:  # noqa: BLE001 one broken attempt must not stop the others
            self.tell(f"{name}: broken: {_reason(error)}")
            return CaseResult(case.name, number, "broken", (_reason(error),), kept=str(place))
        result = _result(case, number, ended, verdict, place)
        self.tell(f"{name}: {'; '.join((result.state, *result.why))}")
        return result

    async def _run(
        self, prepared: PreparedCase, repository: CaseRepository, place: Path, name: str
    ) -> AttemptOutput:
        case = prepared.fetched.case
        async with self._model(case) as model:
            environment = {
                **process_environment(),
                "FETTLE_DATA_DIR": str(place / "data"),
                "FETTLE_TOOLCHAINS": json.dumps(
                    [str(each) for each in self._toolchains(prepared.fetched)]
                ),
                **model,
            }

            def tell(stage: str) -> None:
                self.tell(f"{name}: {stage}")

            return await Attempt(repository.folder, case.issue, place, environment, tell).run()

    @asynccontextmanager
    async def _model(self, case: Case) -> AsyncIterator[dict[str, str]]:
        """Give the settings that lead to the model, beside those that are there already."""
        if not self.plan.scripted or case.script is None:
            yield {}
            return
        model = await LocalModel.start(case.script)
        try:
            yield {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "local"}
        finally:
            await model.stop()

    def _toolchains(self, fetched: FetchedCase) -> tuple[Path, ...]:
        own = (fetched.toolchain,) if fetched.toolchain else ()
        return (*own, *self.settings.toolchains)


async def _judge(
    prepared: PreparedCase, repository: CaseRepository, ended: AttemptOutput
) -> EvaluationVerdict:
    """Judge the branch; without one nothing is solved."""
    if ended.branch is None:
        return EvaluationVerdict(reasons=(f"no pull request: {one_line(ended.told['text'], 300)}",))
    judging = replace(prepared.judging, repository=repository)
    after = await judging.commit(await repository.tip(ended.branch))
    return compare(prepared.fetched.case.about.judge, prepared.before, after)


def _result(
    case: Case, number: int, ended: AttemptOutput, verdict: EvaluationVerdict, place: Path
) -> CaseResult:
    told = ended.told
    return CaseResult(
        case.name,
        number,
        "solved" if verdict.solved else "not solved",
        verdict.reasons,
        outcome=told["outcome"],
        text=told["text"],
        branch=told["branch"],
        draft=told["draft"],
        stages=ended.stages,
        failed_stage=ended.failed_stage,
        failing_checks=ended.failing_checks,
        denied=ended.denied,
        tests={name: {"before": was, "after": now} for name, (was, now) in verdict.turned.items()},
        lost=verdict.lost,
        usd=told["cost"]["usd"],
        turns=told["cost"]["turns"],
        usage=ended.usage,
        seconds=ended.seconds,
        kept=str(place),
    )


def _reason(error: Exception) -> str:
    """Return what people read: errors that we did not foresee say their kind as well."""
    text = printable(str(error)).strip()
    return text if isinstance(error, FettleError) else f"{type(error).__name__}: {text}"
