"""Another major version: made and checked first, then a draft, a question, or nothing."""

import json

import pytest

from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import GHSA, alert

WANTED = {"flask": ["3.0.3"], "jinja2": ["3.1.3"]}
"""The repository asks for both itself."""


@pytest.mark.parametrize(
    ("majors", "draft"), [("true", False), ("allow", False), ("draft", True), (None, True)]
)
async def test_the_policy_says_whether_majors_move(scene, majors, draft):
    policy = f"remediation: {{majors: {majors}}}\n" if majors else ""
    place = scene(policy=policy, advisories=[alert("< 4.0.0")], wants=WANTED)

    outcome = await place.run(skip_verify=True)

    assert result_of(outcome.rule) == "fixed"
    assert place.pull.draft is draft
    assert ("another major version, and no release" in place.pull.body) is draft


@pytest.mark.parametrize(
    ("majors", "why"), [("never", "wants no other"), ("ask", "nobody can be"), ("false", "nobody")]
)
async def test_without_a_way_to_a_yes_there_is_no_major(scene, majors, why):
    policy = f"remediation: {{majors: {majors}}}\n"
    place = scene(policy=policy, advisories=[alert("< 4.0.0")], wants=WANTED)

    outcome = await place.run(skip_verify=True)

    assert result_of(outcome.rule) == "fix_failed"
    assert why in outcome.text
    assert not place.pushed


async def test_what_only_development_needs_may_move_to_another_major(scene):
    place = scene(
        policy="remediation: {majors: never}\n",
        advisories=[alert("< 4.0.0", scope="development")],
        wants=WANTED,
    )

    outcome = await place.run(skip_verify=True)

    assert result_of(outcome.rule) == "fixed"
    assert place.pull.draft is False


@pytest.mark.parametrize(("word", "result"), [("approved", "fixed"), ("denied", "fix_failed")])
async def test_people_are_asked_for_another_major_version(scene, talk, acts, word, result):
    approvals = talk.Approvals([{"state": word, "decided_by": "mara"}])
    answers = [acts.stands(), acts.sums_up()]
    policy = "remediation: {majors: ask}\n"
    about = {"advisories": [alert("< 4.0.0", summary="It breaks out")], "wants": WANTED}
    place = scene(answers, policy=policy, approvals=approvals, **about)

    outcome = await place.run()

    assert result_of(outcome.rule) == result
    [asking] = approvals.askings
    assert asking.arguments == {"package": "jinja2", "directory": "", "version": "4.0.0"}
    assert (asking.rule, asking.stage.partition("/")[0]) == ("remediate/major", "agree")
    assert f"High severity: It breaks out ({GHSA})." in asking.reason
    assert "The repository asks for it itself." in asking.reason
    assert "What was made: The repository's own requirement" in asking.reason
    assert "Checked: `tests` passed." in asking.reason
    if word == "denied":
        assert "mara said no to version 4.0.0" in outcome.text
        assert not place.pushed
    else:
        assert json.loads(place.files["lock.json"])["versions"]["jinja2"] == "4.0.0"
        assert place.pull.draft is False
        assert place.world.model.answers == [], "a judge looks at such a step"


async def test_a_question_about_what_nobody_may_learn_yet_does_not_say_what_it_is_for(
    scene, talk, acts
):
    approvals = talk.Approvals([{"state": "denied", "decided_by": "mara"}])
    secret = alert("< 4.0.0", undisclosed=True, summary="A hole in the wall.")
    policy = "remediation: {majors: ask}\n"
    about = {"advisories": [secret], "wants": WANTED}
    await scene([acts.stands()], policy=policy, approvals=approvals, **about).run()

    [asking] = approvals.askings
    assert GHSA not in asking.reason
    assert "hole" not in asking.reason
    assert "safe" not in asking.reason
    assert asking.reason.startswith("Version 4.0.0 is another major version")


async def test_a_major_that_every_requirement_admits_is_like_any_other_version(scene):
    policy = "remediation: {majors: never}\n"
    place = scene(policy=policy, advisories=[alert("< 4.0.0")])

    outcome = await place.run(skip_verify=True)

    assert result_of(outcome.rule) == "fixed"
    assert json.loads(place.files["lock.json"])["versions"]["jinja2"] == "4.0.0"
    assert place.pull.draft is False


async def test_nobody_is_asked_for_a_major_that_no_way_leads_to(scene, talk):
    approvals = talk.Approvals([{"state": "approved", "decided_by": "mara"}])
    place = scene(
        policy="remediation: {majors: ask}\n",
        needs={("flask", "3.0.3"): {"jinja2": ["3.1.3"]}},
        releases={"jinja2": ["4.0.0"], "flask": ["3.0.3"]},
        advisories=[alert("< 4.0.0")],
        approvals=approvals,
    )

    outcome = await place.run(skip_verify=True)

    assert result_of(outcome.rule) == "fix_failed"
    assert approvals.askings == []
