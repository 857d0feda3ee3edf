"""How far an alert reaches is judged by a small model, where code cannot tell and somebody asks."""

import pytest

from agents.errors import ModelRefused
from agents.loop.no_model import NONE
from tests.agents.pipelines.remediate.conftest import GHSA, alert


def submit_assessment(
    talk, ghsa=GHSA, affected="no", evidence=("app.py:1 only renders its own text",)
):
    said = {"ghsa_id": ghsa, "affected": affected, "evidence": list(evidence), "risk": "low"}
    return [talk.use("submit_assessment", judged=[said | {"why": "Nothing outside gets there."}])]


async def test_what_code_cannot_tell_a_small_model_judges_where_it_is_asked(scene, talk):
    unclear = alert(description="`xmlattr()` is dangerous.")
    place = scene([submit_assessment(talk)], advisories=[unclear])

    outcome = await place.run(assess=True, dry_run=True)

    assert place.world.model.asked[0]["model"] == "small"
    assert "- No. Nothing outside gets there. `app.py:1`. (a model's judgement)" in outcome.report
    assert outcome.details["triage"][0]["judged"] is True


async def test_no_model_is_asked_what_code_can_tell(scene):
    place = scene()

    await place.run(assess=True, dry_run=True)

    assert place.world.model.asked == []


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (
            {"ghsa": "GHSA-xxxx-xxxx-xxxx"},
            f"Missing: {GHSA}. Not asked about: GHSA-xxxx-xxxx-xxxx.",
        ),
        ({"evidence": ()}, f"`yes` and `no` need evidence: {GHSA}."),
    ],
)
async def test_a_judgement_that_shows_nothing_is_sent_back(scene, talk, wrong, fault):
    unclear = alert(description="`xmlattr()` is dangerous.")
    place = scene([submit_assessment(talk, **wrong), submit_assessment(talk)], advisories=[unclear])

    await place.run(assess=True, dry_run=True)

    assert place.refusal(1) == fault


CLEAR, UNCLEAR = alert(), alert(description="`xmlattr()` is dangerous.")


@pytest.mark.parametrize(
    ("policy", "asked", "judged"),
    [
        ("never", UNCLEAR, False),
        ("unclear", UNCLEAR, True),
        ("unclear", CLEAR, False),
        ("always", CLEAR, True),
    ],
)
async def test_the_policy_has_alerts_judged_that_nobody_asks_about(
    scene, talk, policy, asked, judged
):
    place = scene(
        [submit_assessment(talk)] if judged else [],
        advisories=[asked],
        policy=f"remediation: {{assess: {policy}}}\n",
    )

    outcome = await place.run()

    assert outcome.kind == "pull_request"
    said = "Nothing outside gets there. `app.py:1`. (a model's judgement)"
    assert (said in place.pull.body) is judged
    assert len(place.world.model.asked) == judged


async def test_where_no_model_is_asked_what_code_found_stands(scene):
    place = scene(
        [ModelRefused(NONE)], advisories=[UNCLEAR], policy="remediation: {assess: always}\n"
    )

    outcome = await place.run()

    assert outcome.kind == "pull_request"
    assert "a model's judgement" not in place.pull.body
