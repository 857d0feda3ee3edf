"""A process that dies while a model works: the run ends the same, no answer is paid twice."""

import pytest

from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import (
    ADAPTED,
    STUCK,
    alert,
    engineers,
    fail_after_move,
)


async def test_a_run_that_dies_while_the_model_works_pays_for_no_answer_twice(scene, acts, talk):
    answers = [*engineers(acts), acts.stands(), acts.sums_up()]
    whole = scene(answers, needs=STUCK)
    await whole.run()

    for number in range(len(answers)):
        place = scene([*answers[:number], talk.Killed(), *answers[number:]], needs=STUCK)
        with pytest.raises(talk.Killed):
            await place.run()
        place.world.source.bases.clear()  # another process sets up what this one has not
        outcome = await place.run()

        assert result_of(outcome.rule) == "fixed"
        assert place.files == whole.files
        assert len(place.world.model.asked) == len(answers) + 1


@pytest.mark.parametrize("kind", ["engineer", "adapt", "major"])
async def test_a_run_that_dies_before_a_stage_is_kept_ends_the_same(scene, acts, talk, kind):
    def begin():
        if kind == "engineer":
            return scene([*engineers(acts), acts.stands(), acts.sums_up()], needs=STUCK)
        if kind == "major":  # what the model makes does not hold, so the move alone is published
            major = {"advisories": [alert("< 4.0.0")], "wants": {"jinja2": ["3.1.3"]}}
            half = [acts.write("app.py", "half = 1\n"), acts.adapt("It is half made.")]
            return scene(half * 3, check=fail_after_move, **major)
        first = [acts.write("app.py", ADAPTED), acts.adapt(), acts.falls("Not so.")]
        second = [acts.write("app.py", f"{ADAPTED}# so\n"), acts.adapt(), acts.stands()]
        return scene([*first, *second, acts.sums_up()], check=fail_after_move)

    whole = begin()
    text = (await whole.run()).text
    names = [name for name in whole.world.steps.names if name.startswith("stage/")]
    for name in names:
        place = begin()
        step = place.world.steps.step

        async def run_and_die(each, work, name=name, step=step, place=place):
            if each == name:
                place.world.steps.step = step
                await work()  # it was done, but nobody has kept what came of it
                raise talk.Killed
            return await step(each, work)

        place.world.steps.step = run_and_die
        with pytest.raises(talk.Killed):
            await place.run()
        place.world.source.bases.clear()
        outcome = await place.run()

        assert (outcome.text, place.files, place.pushed) == (text, whole.files, whole.pushed), name
        assert len(place.world.model.asked) == len(whole.world.model.asked), name
