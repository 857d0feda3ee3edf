"""The policy through the front door: the owner's holds, what is off is refused, changes told."""

from __future__ import annotations

import asyncio

from app.simulator.github.state.world import Actor
from tests.flows.conftest import CALC, PATIENCE
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

FILE = ".github/fettle.yml"


async def owners_policy(place, text):
    """Give the owner a repository for what holds in all of theirs."""
    github = place.github
    made = await github.create_repository(place.repository.owner, ".github")
    mara = place.people["mara"]
    await github.commit(made, {FILE: text}, author=mara, message="Say what holds")
    [installation] = github.world.installations.values()
    await github.add_repositories(installation, [made])
    return made


async def test_what_the_owner_says_holds_where_the_repository_says_nothing(make_place):
    async with make_place() as place:
        await owners_policy(place, "branches: {folder: team}\nquality: []\n")
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert pull.head.startswith("bot/team/1-")


async def test_a_label_that_starts_nothing_is_refused_in_words(share_place):
    async with share_place(files=CALC | {FILE: "triggers: {resolve: false}\n"}) as place:
        await place.label()
        outcome = await place.wait_for_end()

        assert (outcome.kind, outcome.rule) == ("refused", "trigger-on")
        assert "`triggers.resolve`" in place.comments()[0]
        assert not place.model.requests


async def test_a_pull_request_that_edits_the_policy_gets_its_check(share_place):
    async with share_place() as place:
        mara, repository = place.people["mara"], place.repository
        sha = await place.github.commit(
            repository, {FILE: "budgt: 1\n"}, author=mara, message="Wish", branch="wish"
        )
        await place.github.parts.pulls.open(
            repository, Actor(mara), title="Wish", body="", head="wish", base="main"
        )
        async with asyncio.timeout(PATIENCE):
            while not repository.check_runs:
                await asyncio.sleep(0.05)

        [run] = repository.check_runs.values()
        assert (run.name, run.head_sha, run.conclusion) == ("fettle policy", sha, "failure")
        assert run.annotations == 1
        assert await place.runs() == []
