"""A conductor on a real engine, and what its runs are asked and told."""

from __future__ import annotations

import asyncio
from contextvars import Context
from dataclasses import dataclass, field, replace

import pytest
from sqlalchemy import text

from agents.errors import Parked, Unanswered
from agents.loop.budget import RunLimits
from agents.pipelines.pipeline import Pipeline
from agents.pipelines.registry import PIPELINES
from agents.policy import PinnedPolicy
from agents.ports import ApprovalRequest
from agents.requests import RequestBase, ResolveIssue
from agents.run import Outcome, RunPorts, stage
from app.runs.admission import Admission
from app.runs.conductor import RunConductor
from app.runs.engine import Engine
from app.runs.steering import RunSteering, SteerSignals
from app.runs.wakeup import WakeupPoller
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from tests.fakes.model import ListModel
from tests.fakes.reporter import RecordingReporter
from tests.fakes.requests import build_resolve_issue
from tests.patience import PATIENCE


class Journal:
    """The port Journal: nobody has said anything."""

    async def turns(self, session):
        return []


@dataclass
class Approvals:
    """The port Approvals of one run, over the real store."""

    stored: StoredApprovals
    run_id: str

    async def ask(self, asking):
        return (await self.stored.ask_once(self.run_id, asking)).approval

    async def all_decided(self, ids):
        return await self.stored.all_decided(ids)

    async def claim(self, ids):
        return await self.stored.claim(ids)


@dataclass
class FailingEquipment:
    """What a run is given here; errors in `finishing` are raised, one for each finish."""

    ports: RunPorts
    admission: object = None
    finishing: list = field(default_factory=list)
    ends: list = field(default_factory=list)
    closed: int = 0
    rested: int = 0
    recovered: int = 0
    retry: object = None

    async def admit(self):
        if isinstance(self.admission, Exception):
            raise self.admission
        if isinstance(self.admission, Admission):
            return self.admission
        return Admission(refusal=self.admission, policy=PinnedPolicy(text=None), tainted=False)

    async def recover(self):
        self.recovered += 1

    async def rest(self):
        self.rested += 1

    async def finish(self, outcome):
        if self.finishing:
            raise self.finishing.pop(0)
        self.ends.append(outcome)

    async def close(self):
        self.closed += 1


@dataclass
class EngineQueue:
    """Hands all that is asked for to the engine at once: there is a place for everything."""

    runs: Runs
    engine: Engine

    async def submit(self, run_id, request):
        if isinstance(request, RequestBase):
            await self.runs.create(run_id, request)
        queued = self.engine.enqueue(run_id, request.lane, request.model_dump(mode="json"))
        await asyncio.create_task(queued, context=Context())


@dataclass
class GatedMachine:
    """A conductor on a real engine, with a pipeline of one stage that does as it is told."""

    url: str
    monkeypatch: object
    works: list = field(default_factory=list)
    """What the stage of the first run does, one for each time: an error is raised, an asking
    asked, anything else returned."""
    equipping: list = field(default_factory=list)
    admission: object = None
    finishing: list = field(default_factory=list)
    given: list = field(default_factory=list)
    obeyed: list = field(default_factory=list)
    disobeying: list = field(default_factory=list)
    model: object = field(default_factory=lambda: ListModel([]))
    retry: object = None
    """Makes what keeps an earlier run's steps."""
    between: object = None
    """An error of the pipeline outside of its stages."""

    async def open(self):
        self.database = Database(self.url)
        self.runs = Runs(self.database)
        self.approvals = StoredApprovals(self.database)
        self.steers, self.signals = StoredSteers(self.database), SteerSignals()
        self.monkeypatch.setitem(PIPELINES, ResolveIssue, Pipeline(self.pipeline, ()))
        await self.restart()
        return self

    async def restart(self):
        """Begin as a fresh process does."""
        limits = RunLimits(usd=1, turns=1, minutes=1)
        self.conductor = RunConductor(
            self.runs,
            self.equip,
            models={},
            limits=limits,
            noreply="localhost",
            obey=self.obey,
        )
        self.engine = Engine(self.url, executor="one", retry_seconds=0.01)
        self.queue = EngineQueue(self.runs, self.engine)
        await self.engine.launch(self.conduct)

    async def close(self):
        await self.engine.drain(0)
        self.database.close()

    async def conduct(self, *run):
        return await self.conductor.conduct(*run)

    def replace(self, **parts):
        """Have runs conducted by another one of the same parts but for these."""
        self.conductor = replace(self.conductor, **parts)

    async def equip(self, run_id, request):
        if self.equipping:
            raise self.equipping.pop(0)
        approvals = Approvals(self.approvals, run_id)
        steering = RunSteering(self.steers, self.signals, run_id)
        reporter = RecordingReporter()
        ports = RunPorts(self.model, Journal(), None, None, reporter, approvals, steering=steering)
        self.given.append(FailingEquipment(ports, self.admission, self.finishing, retry=self.retry))
        return self.given[-1]

    async def pipeline(self, run, request):
        @stage
        async def work(run) -> str:
            """Do as told."""
            told = self.works.pop(0) if self.works and run.id == "0001-run" else "done"
            if isinstance(told, BaseException):
                raise told
            if isinstance(told, ApprovalRequest):
                return await self.ask(run, told)
            if callable(told):
                return await told()
            return told

        said = await run.stage(work)
        if self.between:
            raise self.between
        return Outcome(kind="comment", text=said)

    async def ask(self, run, asking):
        """Do what a session does with a call that waits for people."""
        approval = await run.ports.approvals.ask(asking)
        if approval.state == "waiting":
            self.works.insert(0, asking)
            raise Parked([approval.id])
        if approval.state == "expired":
            raise Unanswered("Nobody answered.")
        return f"{approval.state} by {approval.decided_by}"

    async def obey(self, command, ident):
        """Carry a command out, or raise what stands in its way."""
        self.obeyed.append(command)
        if self.disobeying:
            raise self.disobeying.pop(0)
        return {"decided": command.verb}

    async def wait_for_parked(self, run_id="0001-run"):
        """Wait until the run waits for people; return its one question."""
        async with asyncio.timeout(PATIENCE):
            while not (
                await self.runs.is_parked(run_id)
                and run_id in self.engine.pool.waiting
                and (asked := await self._list_questions(run_id))
            ):
                await asyncio.sleep(0.02)
        [waiting] = asked
        return waiting

    async def _list_questions(self, run_id):
        return [each for each in await self.approvals.list_waiting() if each.run_id == run_id]

    async def decide(self, waiting, verdict="approved"):
        """Answer as a person does, and wake the run as `WakeupPoller` does."""
        await self.approvals.decide(waiting.id, verdict=verdict, by="mara", by_id=3, via="comment")
        await self.look()

    async def look(self):
        """Do what a server does each second."""
        wake = self.engine.wake
        waking = WakeupPoller(self.approvals, wake, steers=self.steers, ring=self.signals.ring)
        await waking.look_once()

    async def end(self, run_id="0001-run"):
        """Return the outcome in the store, once it is there."""
        async with asyncio.timeout(PATIENCE):
            while (outcome := await self.runs.outcome(run_id)) is None:
                await asyncio.sleep(0.02)
        return outcome

    async def sql(self, statement):
        await self.database.write(lambda connection: connection.execute(text(statement)))

    @property
    def ends(self):
        """What people were shown at the end, over all processes."""
        return [outcome for given in self.given for outcome in given.ends]


@pytest.fixture
async def machine(sqlite_url, monkeypatch):
    made = await GatedMachine(sqlite_url, monkeypatch).open()
    yield made
    await made.close()


@pytest.fixture
def wish():
    return build_resolve_issue()


async def state(machine, run_id="0001-run"):
    query = f"SELECT state FROM runs WHERE id = '{run_id}'"
    return await machine.database.read(lambda c: c.exec_driver_sql(query).scalar())


def make_asking(**changes):
    about = {
        "call_id": "1.0/toolu_1",
        "session": "work/1",
        "stage": "work/1",
        "tool": "bash",
        "arguments": {"command": "deploy"},
        "rule": "policy/ask/1",
        "reason": "It deploys.",
        "head": "a" * 40,
    }
    return ApprovalRequest(**{**about, **changes})
