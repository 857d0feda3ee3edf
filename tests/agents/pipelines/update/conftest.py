"""What the tests of update share: a pull request and its base, and what a model does to them."""

import pytest

from agents.policy import POLICY_PATH
from tests.fakes.pull_requests import build_pull_snapshot
from tests.fakes.requests import build_update_branch

POLICY = "quality: [{name: unit, run: check}]\n"
FILES = {"lib.py": "def add(a, b):\n    return a + b\n", "ui.py": "from lib import add\n"}
BRANCH = "bot/7-add-0a0a0a"
OURS, THEIRS, BOTH = "OURS\n", "THEIRS\n", "OURS\nTHEIRS\n"


@pytest.fixture
def request_():
    return build_update_branch()


class DivergedPullScene:
    """A pull request, its base, and what is done to both."""

    def __init__(self, world, base):
        self.world, self.fork = world, base
        self.history = world.history

    def commit(self, on, change, subject="A change"):
        files = {k: v for k, v in {**self.history.files(on), **change}.items() if v is not None}
        return self.history.commit(self.history.tree(files), on, subject)

    def stand(self, ours, theirs):
        """Have the two branches where these changes lead; return their heads."""
        mine = self.commit(self.fork, ours, "Ours")
        yours = self.commit(self.fork, theirs, "Theirs") if theirs else self.fork
        self.world.source.branches.update({BRANCH: mine, "main": yours})
        self.world.source.base = yours
        return mine, yours

    def files(self, commit):
        return self.history.files(commit)


@pytest.fixture
def scene(make_world, talk):
    def make(answers=(), *, files=(), policy=POLICY, commands=None, **more):
        pull = {"branch": BRANCH, "head": ""} | more.pop("pull", {})
        more.setdefault("approvals", talk.Approvals())
        whole = {**FILES, POLICY_PATH: policy, **dict(files)}
        reviewing = talk.Reviewing(build_pull_snapshot(**pull))
        commands = {"check": (0, "ok")} if commands is None else commands
        world = make_world(whole, answers, reviewing=reviewing, commands=commands, **more)
        return DivergedPullScene(world, world.base)

    return make


@pytest.fixture
def acts(talk):
    return UpdateActs(talk.use)


class UpdateActs:
    """What a model does, in one word."""

    def __init__(self, use):
        self.use = use

    def write(self, path="lib.py", content=BOTH):
        return [self.use("write", path=path, content=content)]

    def submit(self, settled=("lib.py",), besides=(), undecided=()):
        return [
            self.use(
                "submit_resolution",
                settled=[{"path": p, "how": "Both sides' lines are in it."} for p in settled],
                besides=[{"path": p, "why": "It calls what was renamed."} for p in besides],
                undecided=[{"path": p, "question": "Which of the two?"} for p in undecided],
                summary="Both sides wanted a line in add().",
            )
        ]

    def settle(self):
        return [self.write(), self.submit()]
