"""An installation that asks no model: what code can fix is fixed, the rest ends in words."""

import pytest

from agents.errors import ModelRefused
from agents.loop.no_model import NONE, NoModel
from agents.pipelines.remediate.ladder import ecosystem_of
from agents.ports import Query
from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import STUCK, alert, fail_after_move
from tests.agents.pipelines.remediate.ladder.conftest import group


@pytest.fixture
def alone(scene):
    """The scene, and no model in it."""

    def make(**more):
        place = scene([], **more)
        place.world.model = NoModel()
        return place

    return make


async def test_a_small_move_by_rule_is_published_as_it_is(alone):
    place = alone()

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert not outcome.pull_request.draft
    assert "It cost nothing." in place.told


async def test_what_a_model_was_to_look_at_is_a_draft_that_says_so(alone, talk):
    approvals = talk.Approvals([{"state": "approved", "decided_by": "mara"}])
    place = alone(advisories=[alert("< 4.0.0")], approvals=approvals)  # another major version

    outcome = await place.run()

    assert result_of(outcome.rule) == "unverified"
    assert outcome.pull_request.draft
    assert "A model was to look at it and did not, so a person has to" in place.pull.body
    assert "FETTLE_MODELS=none" in place.pull.body


async def test_what_only_an_engineer_could_do_ends_in_words(alone):
    place = alone(needs=STUCK)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fix_failed"
    assert "FETTLE_MODELS=none" in outcome.text
    assert "No model looked for another way: This Fettle asks no model" in outcome.report
    assert "ngineer" not in outcome.text + outcome.report, "none looked"
    assert "- Its own requirement: The repository does not ask for jinja2 itself" in outcome.report
    assert "evel" not in outcome.report, "nobody knows what a level is"
    assert not place.pushed


@pytest.mark.parametrize(
    ("ecosystem", "manifest", "said"),
    [
        ("maven", "pom.xml", "-Dincludes=jinja2 -DdepVersion=3.1.4"),
        ("maven", "build.gradle", "run `gradle build` after setting the version of jinja2"),
        ("nuget", "packages.lock.json", "run `dotnet add package jinja2 --version 3.1.4`"),
        (
            "npm",
            "bun.lock",
            "run `bun update jinja2` (`bun add jinja2@3.1.4` where a `package.json` pins it) in",
        ),  # its tool's way
    ],
)
async def test_what_no_rule_mends_is_said_before_a_rung_is_tried(alone, ecosystem, manifest, said):
    about = {"ecosystem": ecosystem, "manifest": manifest, "first_patched": "3.1.4"}
    known = group("jinja2", manifests=[manifest]).model_copy(update={"ecosystem": ecosystem})
    assert ecosystem_of(frozenset({manifest}), known) is None
    place = alone(advisories=[alert().model_copy(update=about)], files={manifest: ""}, known=False)

    outcome = await place.run(ecosystem=ecosystem)

    assert result_of(outcome.rule) == "by_hand"
    assert f"No rule of Fettle's mends `{manifest}` ({ecosystem})" in outcome.text
    assert said in outcome.text
    assert place.index.resolved == 0
    assert place.world.source.used == [], "nothing was set up or checked for that"
    assert not place.pushed


async def test_a_fix_that_breaks_a_check_is_not_published(alone):
    place = alone(check=fail_after_move)

    outcome = await place.run(max_iterations=1)

    assert result_of(outcome.rule) == "verify_failed"
    assert not place.pushed


async def test_no_question_is_answered():
    model = NoModel()
    with pytest.raises(ModelRefused) as raised:
        await model.answer(Query(model="m", system="", tools=(), messages=()))
    assert str(raised.value) == NONE
    with pytest.raises(ModelRefused, match="FETTLE_MODELS=none"):
        await model.capabilities("m")


async def test_where_a_model_proposed_the_set_up_that_is_said_and_no_other(scene, talk):
    def check(_files):
        return (0, "3 passed in 0.1s") if place.world.source.set_up_by else (127, "no make")

    place = scene([[talk.use("submit_setup", commands=["make deps"])]], check=check)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert "**Set up by commands that a model proposed:** `make deps`." in place.pull.body
    assert "It cost nothing." not in place.told
    assert len(place.world.model.asked) == 1
