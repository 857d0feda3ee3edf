"""A process that dies at any moment of an update: the run ends the same, no answer is paid anew."""

import json

import pytest

from tests.agents.pipelines.update.conftest import BOTH, BRANCH, OURS, THEIRS


async def test_a_death_after_any_stage_changes_nothing(scene, acts, request_, talk):
    whole = scene(acts.settle())
    whole.stand({"lib.py": OURS}, {"lib.py": THEIRS})
    ended = await whole.world.resolve(request_)
    stages = [name for name in whole.world.steps.names if name.startswith("stage/")]
    assert stages[-1] == "stage/report/1"

    for dies_at in stages:
        place = scene(acts.settle())
        place.stand({"lib.py": OURS}, {"lib.py": THEIRS})
        steps, step = place.world.steps, place.world.steps.step

        async def run_and_die(name, work, *, step=step, dies_at=dies_at):
            done = await step(name, work)
            if name == dies_at:
                raise talk.Killed
            return done

        steps.step = run_and_die
        with pytest.raises(talk.Killed):
            await place.world.resolve(request_)
        steps.step = step
        assert await place.world.resolve(request_) == ended
        assert place.world.publisher.comments == whole.world.publisher.comments
        assert len(place.world.model.asked) == 2, "no answer is paid twice"


async def test_a_death_between_the_answer_and_the_merge_costs_no_answer(
    scene, acts, request_, talk
):
    place = scene(acts.settle())
    place.stand({"lib.py": OURS}, {"lib.py": THEIRS})
    append = place.world.journal.append

    async def append_and_die(session, number, turn):
        await append(session, number, turn)
        if turn.kind == "results" and "Recorded" in json.dumps(turn.content):
            raise talk.Killed

    place.world.journal.append = append_and_die
    with pytest.raises(talk.Killed):
        await place.world.resolve(request_)
    place.world.journal.append = append
    outcome = await place.world.resolve(request_)

    assert outcome.kind == "comment"
    assert place.files(place.world.publisher.pushed[BRANCH])["lib.py"] == BOTH
    assert len(place.world.model.asked) == 2
