"""What the tests of checks share: a pull request on which a check fails, and a model's acts."""

import pytest

import agents.pipelines.checks.sort_checks
from agents.policy import POLICY_PATH
from agents.ports import ForeignCheck
from tests.fakes.pull_requests import build_pull_snapshot
from tests.fakes.requests import build_fix_checks

POLICY = "quality: [{name: own, run: check}]\nchecks: {fix: true}\n"
BRANCH = "bot/7-add-0a0a0a"
RED, MENDED = "RED\n", "green\n"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr(agents.pipelines.checks.sort_checks, "PAUSE", 0)


def check(name="unit", ended="failure", *, ident=1, **more):
    return ForeignCheck(id=ident, name=name, app="GitHub Actions", ended=ended, **more)


class FailingCheckScene:
    """A pull request on which a check fails."""

    def __init__(self, world, base):
        self.world, self.base, self.history = world, base, world.history
        files = {**self.history.files(base), "lib.py": RED}
        self.head = self.commit(base, files)
        world.source.branches.update({BRANCH: self.head, "main": base})
        self.request = build_fix_checks(head=self.head)
        self.fails(check())

    def commit(self, on, change, subject="Ours"):
        files = {**self.history.files(on), **change}
        return self.history.commit(self.history.tree(files), on, subject)

    def fails(self, *checks, base=()):
        self.world.checking.said = {self.head: checks, self.base: base}

    async def run(self):
        return await self.world.resolve(self.request)

    @property
    def comment(self):
        return self.world.publisher.comments["checks"]

    @property
    def silent(self):
        world = self.world
        return not (world.publisher.comments or world.publisher.pushed or world.model.asked)

    @property
    def pushed(self):
        return self.world.publisher.pushed.get(BRANCH)


@pytest.fixture
def scene(make_world, talk):
    def make(answers=(), *, policy=POLICY, pull=None, commands=None, **more):
        about = {"branch": BRANCH, "head": "", "pushed_by_us": True} | (pull or {})
        files = {"lib.py": "green\n", POLICY_PATH: policy}
        more.setdefault("checking", talk.Checking())
        reviewing = talk.Reviewing(build_pull_snapshot(**about))
        world = make_world(
            files, answers, reviewing=reviewing, commands=commands or {"check": (0, "ok")}, **more
        )
        return FailingCheckScene(world, world.base)

    return make


@pytest.fixture
def acts(talk):
    return CheckActs(talk.use)


class CheckActs:
    """What a model does, in one word."""

    def __init__(self, use):
        self.use = use

    def write(self, content=MENDED, path="lib.py"):
        return [self.use("write", path=path, content=content)]

    def submit(self, *causes, summary="It was red: add() is right now."):
        causes = causes or (("c1", "branch"),)
        told = [{"about": a, "kind": k, "why": f"The log says {k}."} for a, k in causes]
        return [self.use("submit_checks_fixed", causes=told, summary=summary)]

    def mend(self):
        return [self.write(), self.submit()]
