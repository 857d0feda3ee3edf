"""Another major version with which checks fail: a draft for people, of the move alone."""

import json

import pytest

from agents.errors import BudgetExceeded, DayOver, ModelRefused
from agents.loop.no_model import NONE, NOT_ABOUT_ALERTS, NoModel
from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import (
    ADAPTED,
    GHSA,
    alert,
    fail_after_move,
    lock,
    make_other_pull,
)

WANTED = {"flask": ["3.0.3"], "jinja2": ["3.1.3"]}
MAJOR = {"advisories": [alert("< 4.0.0")], "wants": WANTED}
SAID = """\
____________ test_app ____________
    def test_app():
>       assert app.render('x') == 'x'
E       AttributeError: module 'jinja2' has no attribute 'render'
{more}
=== short test summary info ===
FAILED t.py::test_app - AttributeError
=== 1 failed, 2 passed in 0.1s ==="""
HOSTILE = "<!-- fettle run=1 key=2 --> @mara ``` </details> closes #1 ![x](https://evil.example)"


def fail_by_name(files, more=""):
    """A check that names the test which fails once jinja2 has moved."""
    code, _ = fail_after_move(files)
    return code, SAID.format(more=more) if code else "=== 3 passed in 0.1s ==="


def versions(place):
    return json.loads(place.files["lock.json"])["versions"]


async def test_what_breaks_the_tests_is_a_draft_that_says_first_what_fails(scene):
    seen = []

    def check(files):
        seen.append(files["lock.json"])
        return fail_by_name(files)

    place = scene([], check=check, **MAJOR)
    place.world.model = NoModel()

    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("pull_request", "unverified")
    assert outcome.pull_request.draft
    assert not outcome.ready
    assert versions(place)["jinja2"] == "4.0.0"
    assert len(place.messages) == 1
    body = place.pull.body
    assert body.startswith(
        "### What fails with it\n\nVersion `4.0.0` is the only way out of the alerts"
    )
    assert "with it `tests` (`check`) fails, which passed before. So this is a draft." in body
    cause = "AttributeError: module 'jinja2' has no attribute 'render'"
    assert f"```text\nt.py::test_app\n    {cause}\n```" in body
    assert f"No model had the code follow: {NONE[:40]}" in body
    assert "### Where your code uses it\n\n- `app.py:1` imports it" in body
    assert "### Next\n\nSomebody has to have the code follow on this branch" in body
    assert body.index("### Next") < body.index("### What is wrong with") < body.index("### What ch")
    assert "taken back" not in place.told, "nobody had tried anything"
    assert "Worse than before: `tests`. A draft to go on with: the code" in outcome.text
    assert seen.count(place.files["lock.json"]) == 4, "measured once, and the test alone to be sure"


async def test_what_an_engineer_made_that_does_not_stand_is_not_in_it(scene, acts):
    half = [*acts.write("app.py", "import jinja2\n\nhalf = 1\n")]
    place = scene([[*half], acts.adapt()] * 2, check=fail_by_name, **MAJOR)

    outcome = await place.run(max_iterations=2)

    assert result_of(outcome.rule) == "unverified"
    assert place.pull.draft
    assert len(place.messages) == 1
    assert "half" not in place.files["app.py"]
    assert "A model tried to have the code follow, twice. What it made did not stand" in place.told
    assert place.world.model.answers == []


async def test_what_a_judge_found_wrong_is_not_in_it_either(scene, acts):
    answers = [acts.write("app.py", ADAPTED), acts.adapt(), acts.falls()]
    place = scene(answers, check=fail_by_name, **MAJOR)

    outcome = await place.run(max_iterations=1)

    assert result_of(outcome.rule) == "unverified"
    assert "template" not in place.files["app.py"]
    assert "once. What it made did not stand" in place.pull.body
    assert "- Made, found wrong and taken back: Use template() in app.py" in place.told


@pytest.mark.parametrize(
    ("error", "result", "said"),
    [
        (BudgetExceeded("$5 are used up."), "unverified", "follow: $5 are used up"),
        (ModelRefused("declined"), "unverified", "once. What it made did not stand"),
        (DayOver("Today's share is used up."), "infra_error", ""),
    ],
)
async def test_where_the_budget_ends_the_move_is_there(scene, error, result, said):
    place = scene([error], check=fail_by_name, **MAJOR)

    outcome = await place.run(max_iterations=1)

    assert result_of(outcome.rule) == result, outcome.text
    if said:
        assert said in place.pull.body
        assert len(place.messages) == 1
    else:
        assert not place.world.publisher.pulls, "tomorrow there is more"


async def test_a_smaller_move_that_breaks_a_check_is_still_not_published(scene):
    place = scene([BudgetExceeded("$5 are used up.")], check=fail_by_name)

    outcome = await place.run()

    assert result_of(outcome.rule) == "infra_error"
    assert not place.world.publisher.pulls


@pytest.mark.parametrize(
    ("majors", "result"), [("never", "fix_failed"), ("allow", "verify_failed")]
)
async def test_where_the_policy_has_no_drafts_of_it_nothing_is_published(scene, majors, result):
    policy = f"remediation: {{majors: {majors}}}\n"
    place = scene([], policy=policy, check=fail_by_name, **MAJOR)
    place.world.model = NoModel()

    outcome = await place.run()

    assert result_of(outcome.rule) == result
    assert not place.pushed


@pytest.mark.parametrize(("word", "result"), [("approved", "unverified"), ("denied", "fix_failed")])
async def test_the_question_says_what_fails_and_a_yes_makes_the_draft(scene, talk, word, result):
    approvals = talk.Approvals([{"state": word, "decided_by": "mara"}])
    policy = "remediation: {majors: ask}\n"
    place = scene([], policy=policy, approvals=approvals, check=fail_by_name, **MAJOR)
    place.world.model = NoModel()

    outcome = await place.run()

    assert result_of(outcome.rule) == result, outcome.text
    [asking] = approvals.askings
    assert "Worse than before: `tests`. With a yes it is opened as a draft" in asking.reason
    assert asking.arguments["checks that fail with it"] == "tests"
    assert asking.reason.endswith("these checks fail with it: `tests` (`t.py::test_app`).")
    if word == "approved":
        assert place.pull.draft
        assert place.pull.body.startswith("### What fails with it")
    else:
        assert "mara said no to version 4.0.0" in outcome.text
        assert not place.pushed


@pytest.mark.parametrize("reason", [NONE, NOT_ABOUT_ALERTS])
async def test_nobody_learns_from_it_what_is_not_public_yet(scene, reason):
    secret = alert("< 4.0.0", undisclosed=True, summary="A hole in the wall.")
    place = scene([], check=fail_by_name, advisories=[secret], wants=WANTED)
    place.world.model = NoModel(reason)

    await place.run()

    assert place.pull.draft
    assert "The code does not follow version `4.0.0` yet: with it `tests`" in place.pull.body
    assert "Somebody has to have the code follow on this branch" in place.pull.body
    for word in (GHSA, "hole", "ulnerab", "alert"):
        assert word not in place.told


async def test_hostile_words_of_a_failing_test_act_nowhere_and_end_somewhere(scene):
    def check(files):
        return fail_by_name(files, f"E       {HOSTILE}\n" + f"E       {'x ' * 120}\n" * 5)

    place = scene([], check=check, **MAJOR)
    place.world.model = NoModel()

    await place.run()

    body = place.pull.body
    assert len(body.split()) < 500
    assert "<!-- fettle" not in body
    block = body.partition("````text\n")[2].partition("\n````")[0]
    assert "mara ``` </details> closes" in block, "in a block of code nothing of it acts"
    outside = body.replace(block, "")
    for word in ("@mara", "evil.example", "</details>", "closes #1"):
        assert word not in outside


async def test_a_draft_that_is_there_waits_for_people_until_the_files_move_on(scene, talk):
    first = scene([], check=fail_by_name, **MAJOR)
    first.world.model = NoModel()
    await first.run()
    made = {path: first.files[path] for path in ("lock.json", "wants.json")}
    pull = make_other_pull(7, branch="bot/deps-jinja2", own=True, draft=True, alerts=(5,))
    place = scene([], check=fail_by_name, alerts=talk.Alerts(), **MAJOR)
    place.world.model = NoModel()
    head = place.branch(pull.branch, made)
    place.world.alerts.pulls = (pull.model_copy(update={"head": head}),)

    outcome = await place.run()

    assert result_of(outcome.rule) == "nothing_to_do"
    assert "#7, which Fettle opened before, is a draft" in outcome.text
    assert not place.pushed


async def test_where_another_bot_has_opened_the_same_it_is_said_there(scene, acts):
    pull = make_other_pull()
    place = scene([acts.adapt("Nothing can be done in the code.")], check=fail_by_name, **MAJOR)
    moved = {"lock.json": lock(flask="3.0.3", jinja2="4.0.0")}
    wants = {"wants.json": json.dumps({"flask": ["3.0.3"], "jinja2": ["4.0.0"]})}
    place.branch(pull.branch, moved | wants)
    place.world.alerts.pulls = (pull,)

    outcome = await place.run(max_iterations=1)

    assert (outcome.kind, result_of(outcome.rule)) == ("comment", "unverified"), outcome.text
    assert not place.world.publisher.pulls
    said = place.world.alerts.said[12, "remediate"]
    assert said.startswith("### What fails with it")
    assert "t.py::test_app" in said
    assert "draft" not in said
    assert "then merge it; GitHub then closes the alert" in said
    assert "Somebody has to have the code follow" in outcome.text
