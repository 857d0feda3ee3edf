"""The code follows the new version, in a commit of its own; what stays broken is taken back."""

import pytest

from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import ADAPTED, fail_after_move, lock


async def test_what_the_new_version_breaks_is_adapted_in_a_commit_of_its_own(scene, acts):
    answers = [acts.write("app.py", ADAPTED), acts.adapt(), acts.stands(), acts.sums_up()]
    place = scene(answers, check=fail_after_move)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed", outcome.text
    first, second = place.messages
    assert first.startswith("Update jinja2 from 3.1.3 to 3.1.4\n")
    assert second.startswith("Adapt the code to the new jinja2\n\nrender() is called template()")
    assert "`check` ended with exit code 1" in place.prompt(0)
    assert "app.py:1 imports it" in place.prompt(0)
    risk = "With the new version alone `tests` failed. The code was changed along with it: read the"
    assert f"{risk} second commit." in place.pull.body


async def test_people_are_told_which_tests_the_new_version_broke(scene, acts):
    def check(files):
        code, _ = fail_after_move(files)
        said = "FAILED t.py::test_app - no\n" if code else ""
        ended = f"=== {code} failed, {3 - code} passed in 0.1s ==="
        return code, f"=== short test summary info ===\n{said}{ended}"

    answers = [acts.write("app.py", ADAPTED), acts.adapt(), acts.stands(), acts.sums_up()]
    place = scene(answers, check=check)

    await place.run()

    assert "With the new version alone `tests` (`t.py::test_app`) failed." in place.pull.body


async def test_adapting_never_touches_the_lock_file(scene, acts):
    answers = [
        acts.write("lock.json", lock(flask="3.0.3", jinja2="3.1.3")),
        acts.adapt("I put the old version back."),
        RuntimeError("asked again"),
    ]
    place = scene(answers, check=fail_after_move)

    with pytest.raises(RuntimeError, match="asked again"):
        await place.run()

    assert place.refusal(2) == "Manifests and lock files are done; put back lock.json."


async def test_what_stays_broken_is_taken_back_without_asking_a_judge(scene, acts):
    place = scene([acts.adapt("Nothing can be done in the code.")] * 2, check=fail_after_move)

    outcome = await place.run(max_iterations=2)

    assert (outcome.kind, result_of(outcome.rule)) == ("failed", "verify_failed")
    assert "The check `tests` (`check`) passed before the change and fails now" in place.prompt(1)
    assert not place.pushed
    assert len(place.world.model.asked) == 2


async def test_one_more_failing_test_is_named_where_some_failed_before(scene, acts):
    def fail_once_more(files):
        code, _ = fail_after_move(files)
        said = "FAILED t.py::test_app - no\n" if code else ""
        ended = f"=== {1 + code} failed in 0.1s ==="
        return 1, f"=== short test summary info ===\nFAILED t.py::test_old - no\n{said}{ended}"

    place = scene([acts.adapt("Nothing can be done in the code.")] * 2, check=fail_once_more)

    outcome = await place.run(max_iterations=2)

    assert (outcome.kind, result_of(outcome.rule)) == ("failed", "verify_failed")
    assert "- t.py::test_app" in place.prompt(0)
    assert "failed before the change, too, but now it fails in more places" in place.prompt(1)
    assert "New: `t.py::test_app`." in place.prompt(1)


async def test_tests_that_failed_before_are_not_held_against_it(scene):
    red = (
        "=== short test summary info ===\nFAILED t.py::a - x\n=== 1 failed, 1 passed in 0.1s ===\n"
    )
    place = scene(check=(1, red))

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed"
    assert "| `tests` | failed (1) | failed (1) |" in outcome.report


async def test_what_no_command_could_verify_is_a_draft_and_not_called_fixed(scene):
    place = scene(check=(1, "always red"))

    outcome = await place.run()

    assert result_of(outcome.rule) == "unverified"
    assert outcome.pull_request.draft
    assert not outcome.ready
    assert "works with it: `tests`: before the change, it failed without saying" in outcome.report
    assert "Not verified: `tests`: before the change" in outcome.text


async def test_what_can_no_longer_be_installed_does_not_stand(scene, acts):
    place = scene([acts.skip()])
    set_up = place.world.source.set_up

    async def breaks(base, policy, image=None, *, own=False):
        result = await set_up(base, policy)
        moved = "3.1.4" in place.history.files(base)["lock.json"]
        return result.model_copy(update={"problems": ("pip said no",) if moved else ()})

    place.world.source.set_up = breaks
    outcome = await place.run()

    assert result_of(outcome.rule) == "verify_failed"
    assert "cannot be installed as locked: pip said no" in outcome.text
    assert "cannot be installed as locked: pip said no" in place.prompt(0)


async def test_adapting_the_tests_away_does_not_stand(scene, acts):
    tests = "def test_render():\n    assert render('x') == 'x'\n"
    away = acts.write("test_app.py", "def test_render():\n    pass\n")
    answers = [[*acts.write("app.py", ADAPTED), *away], acts.adapt()]
    place = scene(answers, check=fail_after_move, files={"test_app.py": tests})

    outcome = await place.run(max_iterations=1)

    assert result_of(outcome.rule) == "verify_failed"
    assert "takes something away from the repository's tests" in outcome.text
    assert "test_app.py" in outcome.text
    assert not place.pushed
