"""What outlives a run's process: the steps that are done, and all the fakes together."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from agents.loop.budget import RunLimits
from agents.pipelines.registry import PIPELINES
from agents.ports import GatheredEvidence
from agents.run import Run, RunPorts, RunState, StageContext
from tests.fakes.model import ListModel, MemoryJournal
from tests.fakes.people import MemoryApprovals
from tests.fakes.publishing import MemoryPublisher
from tests.fakes.reporter import RecordingReporter
from tests.fakes.repository import MemoryHistory, MemorySource


@dataclass
class MemorySteps:
    """The port Steps: a step's JSON is kept, so a second Run replays it."""

    kept: dict = field(default_factory=dict)
    names: list = field(default_factory=list)
    meanwhile: object = lambda name, until: None
    """What happens while a run waits."""

    async def wait(self, name, over, *, until=None):
        self.names.append(name)
        if name not in self.kept:
            self.meanwhile(name, until)
            assert await over(), "nobody decides"
            self.kept[name] = None

    async def step(self, name, work):
        self.names.append(name)
        if name not in self.kept:
            self.kept[name] = json.dumps(await work())
        return json.loads(self.kept[name])

    async def boundary(self):
        pass


class MemoryGuidanceRecords:
    """The port GuidanceRecords: what people said is given, what was proposed is kept."""

    def __init__(self, evidence, declined=()):
        self.gathered = GatheredEvidence(evidence=tuple(evidence), declined=tuple(declined))
        self.proposed = []

    async def gather(self):
        return self.gathered

    async def remember(self, number, lines, used):
        self.proposed.append((number, list(lines), list(used)))


@dataclass
class MemorySetups:
    """The port SetupMemory: what an earlier run had found is given, what this one says is kept."""

    proposal: object = None
    noted: list = field(default_factory=list)
    settled: list = field(default_factory=list)

    async def recall(self):
        return self.proposal

    async def note(self, proposal):
        self.noted.append(proposal)

    async def settle(self, number):
        self.settled.append(number)


@dataclass
class MemoryFlakyTests:
    """The port FlakyTests: what others saw is given, what this run notes is kept."""

    known: list = field(default_factory=list)
    noted: list = field(default_factory=list)
    looks: int = 0

    async def list_known(self):
        self.looks += 1
        return self.known

    async def note(self, seen):
        self.noted += seen


@dataclass
class World:
    """Everything that outlives a run's process."""

    history: MemoryHistory
    base: str
    model: ListModel
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    publisher: MemoryPublisher = field(default_factory=MemoryPublisher)
    steps: MemorySteps = field(default_factory=MemorySteps)
    reporter: RecordingReporter = field(default_factory=RecordingReporter)
    approvals: MemoryApprovals = None
    web: object = None
    toolsets: object = None
    tracker: object = None
    steering: object = None
    reviewing: object = None
    checking: object = None
    alerts: object = None
    actions: object = None
    flaky_tests: object = None
    tainted: bool = False
    efforts: dict = field(default_factory=dict)
    tiers: dict = field(default_factory=dict)
    commands: dict = field(default_factory=dict)
    limits: RunLimits = field(default_factory=lambda: RunLimits(usd=5, turns=100, minutes=60))
    now: float = 1000.0
    wall: float = 1_767_225_600.0
    source: MemorySource = None

    def __post_init__(self):
        self.source = MemorySource(self.history, self.base, self.commands)
        self.publisher.history, self.publisher.branches = self.history, self.source.branches
        if self.reviewing is not None:
            self.reviewing.branches = self.source.branches

    def run(self, request):
        """Return a run as a fresh process makes it."""
        return Run(
            StageContext(
                id="0006-run",
                request=request,
                ports=RunPorts(
                    model=self.model,
                    journal=self.journal,
                    source=self.source,
                    publisher=self.publisher,
                    reporter=self.reporter,
                    approvals=self.approvals,
                    web=self.web,
                    toolsets=self.toolsets,
                    tracker=self.tracker,
                    steering=self.steering,
                    reviewing=self.reviewing,
                    checking=self.checking,
                    alerts=self.alerts,
                    actions=self.actions,
                    flaky_tests=self.flaky_tests,
                ),
                steps=self.steps,
                conversations=PIPELINES[type(request)].conversations,
                models={"strong": "big", "judge": "wise", "fast": "small"},
                efforts=self.efforts,
                tiers=self.tiers,
                limits=self.limits,
                clock=lambda: self.now,
                wall=lambda: self.wall,
                standing=RunState(tainted=self.tainted),
            )
        )

    async def resolve(self, request):
        """Run the pipeline of this request."""
        return await PIPELINES[type(request)].work(self.run(request), request)
