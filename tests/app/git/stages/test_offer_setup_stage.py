"""Set-up commands that worked are offered for the policy, over real git, once and no more."""

from __future__ import annotations

import pytest

from agents.loop.budget import RunLimits
from agents.pipelines.registry import PIPELINES
from agents.policy import PinnedPolicy, PolicyOrigin
from agents.ports import SetupProposal
from agents.requests import OfferSetup
from agents.run import Run, RunPorts, StageContext
from tests.app.git.conftest import git
from tests.app.git.stages.test_revert_stage import Publisher
from tests.app.git.stages.test_update_stage import Somebody
from tests.app.git.worktree.test_run_repository import make  # noqa: F401 - a fixture of the same folder
from tests.fakes.model import ListModel, MemoryJournal
from tests.fakes.reporter import RecordingReporter
from tests.fakes.requests import build_offer_setup
from tests.fakes.world import MemorySteps

PATH = ".github/fettle.yml"
GOOD = SetupProposal(
    reason="`npm ci` ended with exit code 1. It says: @octocat ![x](https://evil.example)",
    commands=("cd web && npm install",),
    checks=("npm test",),
    base="c" * 40,
)


class KnownSetup:
    """The port, with what an earlier run had found."""

    def __init__(self, proposal):
        self.proposal = proposal
        self.settled = []

    async def recall(self):
        return self.proposal

    async def settle(self, number):
        self.settled.append(number)


@pytest.fixture
def offer(estate, make):  # noqa: F811 - the fixture
    async def run(proposal=GOOD, files=None, given=None):
        Somebody(estate).commits("main", files or {"a.txt": "a"}, "Set up")
        request, pipeline = build_offer_setup(), PIPELINES[OfferSetup]
        publisher, memory, model = Publisher(estate), KnownSetup(proposal), ListModel([])
        ports = RunPorts(
            model=model,
            journal=MemoryJournal(),
            source=make(run_id="0006-run"),
            publisher=publisher,
            reporter=RecordingReporter(),
            setups=memory,
        )
        context = StageContext(
            id="0006-run",
            request=request,
            ports=ports,
            given=given,
            steps=MemorySteps(),
            conversations=pipeline.conversations,
            models={"strong": "big", "judge": "wise", "fast": "small"},
            limits=RunLimits(usd=5, turns=100, minutes=60),
        )
        outcome = await pipeline.work(Run(context), request)
        assert model.asked == [], "code alone writes it"
        return outcome, publisher, memory

    return run


async def test_the_policy_gets_the_commands_and_nothing_else(estate, offer):
    outcome, publisher, memory = await offer(files={PATH: "budget: {usd: 3}  # enough\n"})

    [opened] = publisher.opened
    assert outcome.pull_request == opened
    assert opened.branch.startswith("bot/setup-")
    assert git(estate.mirror.gitdir, "show", f"{opened.head}:{PATH}") == (
        'budget: {usd: 3}  # enough\nsetup: {run: ["cd web && npm install"]}'
    )
    assert git(estate.mirror.gitdir, "show", "--format=", "--name-only", opened.head) == PATH
    assert "- `cd web && npm install`" in opened.body
    assert "`npm test` could run" in opened.body
    assert "evil.example" not in opened.body
    assert "@octocat" not in opened.body.replace("`@octocat`", "")
    assert memory.settled == [opened.number]


async def test_without_a_policy_there_is_one(estate, offer):
    _, publisher, _ = await offer()
    text = git(estate.mirror.gitdir, "show", f"{publisher.opened[0].head}:{PATH}")
    assert text == 'setup: {run: ["cd web && npm install"]}'


@pytest.mark.parametrize(
    ("proposal", "policy"),
    [
        (None, "path: whole\n"),
        (GOOD.model_copy(update={"fault": "It fails."}), "path: whole\n"),
        (GOOD, "setup: {run: [npm ci]}\n"),
    ],
)
async def test_where_there_is_nothing_to_offer_nobody_hears_of_it(offer, proposal, policy):
    outcome, publisher, memory = await offer(proposal, {PATH: policy})
    assert (outcome.kind, publisher.opened, memory.settled) == ("covered", [], [0])


async def test_a_file_never_takes_the_place_of_the_owners_policy(offer):
    """A file of the repository's own would replace what its owner says for all of them."""
    given = PinnedPolicy(text="deny: [{path: 'db/**'}]\n", origin=PolicyOrigin(owners=True))
    outcome, publisher, memory = await offer(given=given)
    assert (outcome.kind, publisher.opened, memory.settled) == ("covered", [], [0])
    assert "owner's policy" in outcome.text


async def test_a_secret_among_commands_is_not_written_down(offer):
    token = "ghp_" + "1a2B3c4D5e6F7g8H9i0J" + "kLmNoPqRsTuVwXyZ"
    outcome, publisher, _ = await offer(GOOD.model_copy(update={"commands": (f"make k={token}",)}))
    assert outcome.kind == "failed"
    assert token not in outcome.text
    assert publisher.opened == []
