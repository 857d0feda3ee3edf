"""What tests of whole pipelines on real git share: the repository's ports, and the run."""

from __future__ import annotations

from dataclasses import dataclass

from agents.loop.budget import RunLimits
from agents.pipelines.registry import PIPELINES
from agents.run import Run, RunPorts, StageContext
from tests.app.git.conftest import git
from tests.app.git.worktree.test_run_repository import make
from tests.fakes.model import MemoryJournal
from tests.fakes.publishing import MemoryPublisher
from tests.fakes.reporter import RecordingReporter
from tests.fakes.world import MemorySteps

__all__ = ["make"]  # a fixture
RUN = "0006-run"


async def run_pipeline(request, *, run_id=RUN, given=None, **ports):
    """Do the work of a request with these ports; return its outcome."""
    pipeline = PIPELINES[type(request)]
    more = {} if given is None else {"given": given}
    context = StageContext(
        id=run_id,
        request=request,
        ports=RunPorts(journal=MemoryJournal(), reporter=RecordingReporter(), **ports),
        steps=MemorySteps(),
        conversations=pipeline.conversations,
        models={"strong": "big", "judge": "wise", "fast": "small"},
        limits=RunLimits(usd=5, turns=100, minutes=60),
        **more,
    )
    return await pipeline.work(Run(context), request)


@dataclass(kw_only=True)
class EstatePublisher(MemoryPublisher):
    """The port Publisher over the repository of a test: its pushes are git's."""

    estate: object
    before: object = lambda: None
    """Called right before a push, after it was seen where the branch is."""

    async def push(self, branch, commit, *, replacing=""):
        place = ("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        seen = git(self.estate.upstream, *place) or None
        self.before()
        await self.estate.mirror.push(self.estate.url, None, commit, branch, seen)
        return await super().push(branch, commit, replacing=replacing)
