"""A judge looks at the change, and what it finds goes to the next try, which begins at the base."""

from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import ADAPTED, STUCK, engineers, fail_after_move


async def test_feedback_goes_to_the_next_try_which_begins_at_the_base(scene, acts):
    answers = [
        *[acts.write("app.py", "template = 1\n"), acts.adapt("First.  It works."), acts.falls()],
        *[acts.write("app.py", ADAPTED), acts.adapt("Second. It works."), acts.stands()],
        acts.sums_up(),
    ]
    place = scene(answers, check=fail_after_move)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert "Use template() in app.py as well." in place.prompt(3)
    assert "Use template() in app.py as well." not in place.prompt(0)
    assert place.files["app.py"] == ADAPTED
    assert [m.splitlines()[0] for m in place.messages] == [
        "Update jinja2 from 3.1.3 to 3.1.4",
        "Adapt the code to the new jinja2",
    ]
    assert "- Made, found wrong and taken back: Use template() in app.py as well." in outcome.report


async def test_after_the_last_try_nothing_is_published(scene, acts):
    place = scene([*engineers(acts), acts.falls("Not so.")] * 3, needs=STUCK)

    outcome = await place.run(max_iterations=3)

    assert (outcome.kind, result_of(outcome.rule)) == ("failed", "verify_failed")
    assert len(place.world.model.asked) == 9
    assert place.world.source.bases.count(place.base) == 3, "with the dependencies of the base"
    assert "Not so." in place.prompt(3)
    assert not place.pushed
    assert place.world.publisher.pulls == {}


async def test_a_judge_who_contradicts_itself_is_asked_again(scene, acts, talk):
    [good], [bad] = acts.stands(), acts.falls()
    mixed = {**bad["input"], "passed": True}
    empty = {**bad["input"], "feedback": " "}
    answers = [
        *engineers(acts),
        [talk.use("submit_verification", **mixed)],
        [talk.use("submit_verification", **empty)],
        [good],
        acts.sums_up(),
    ]
    place = scene(answers, needs=STUCK)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed"
    assert "does not pass" in place.refusal(3)
    assert "needs `issues`, and `feedback`" in place.refusal(4)


async def test_a_tree_that_changed_under_the_judge_ends_the_run(scene, acts, talk):
    def leaks(files):
        files["app.py"] = "changed behind our back\n"
        return 0, ""

    answers = [*engineers(acts), [talk.use("bash", command="ls")], acts.stands()]
    place = scene(answers, needs=STUCK)
    place.world.commands["ls"] = leaks

    outcome = await place.run()

    assert result_of(outcome.rule) == "infra_error"
    assert "only to be looked at" in outcome.text
    assert place.world.publisher.pulls == {}


async def test_who_asks_for_no_judge_gets_none(scene, acts):
    place = scene([*engineers(acts), acts.sums_up()], needs=STUCK)

    outcome = await place.run(skip_verify=True)

    assert result_of(outcome.rule) == "fixed"
    assert "Not looked at by a model: whoever asked wanted it so." in outcome.report


async def test_what_code_finds_wrong_is_wrong_also_without_a_judge(scene, acts):
    place = scene([acts.adapt("Nothing can be done.")], check=fail_after_move)

    outcome = await place.run(skip_verify=True, max_iterations=1)

    assert result_of(outcome.rule) == "verify_failed"


async def test_a_run_that_breaks_off_publishes_nothing_where_that_was_asked(scene, acts, talk):
    def leaks(files):
        files["app.py"] = "changed behind our back\n"
        return 0, ""

    answers = [*engineers(acts), [talk.use("bash", command="ls")], acts.stands()]
    place = scene(answers, needs=STUCK)
    place.world.commands["ls"] = leaks

    outcome = await place.run(no_pr=True)

    assert result_of(outcome.rule) == "infra_error"
    assert not place.pushed
