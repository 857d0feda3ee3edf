"""Set-up commands that worked are offered for the policy, over real git, once and no more."""

from __future__ import annotations

import pytest

from agents.policy import PinnedPolicy, PolicyOrigin
from agents.ports import SetupProposal
from tests.app.git.conftest import git
from tests.app.git.stages.conftest import RUN, EstatePublisher, run_pipeline
from tests.app.git.stages.test_update_stage import Somebody
from tests.fakes.model import ListModel
from tests.fakes.requests import build_offer_setup
from tests.fakes.world import MemorySetups

PATH = ".github/fettle.yml"
GOOD = SetupProposal(
    reason="`npm ci` ended with exit code 1. It says: @octocat ![x](https://evil.example)",
    commands=("cd web && npm install",),
    checks=("npm test",),
    base="c" * 40,
)


@pytest.fixture
def offer(estate, make):
    async def run(proposal=GOOD, files=None, given=None):
        Somebody(estate).commits("main", files or {"a.txt": "a"}, "Set up")
        publisher, memory, model = (
            EstatePublisher(estate=estate),
            MemorySetups(proposal),
            ListModel([]),
        )
        outcome = await run_pipeline(
            build_offer_setup(),
            given=given,
            model=model,
            source=make(run_id=RUN),
            publisher=publisher,
            setups=memory,
        )
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
