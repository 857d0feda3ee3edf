"""A death, a cancel, an error at any moment: nothing is done twice, nothing half."""

import pytest

from agents.errors import RunError
from tests.agents.pipelines.address.pull_scene import (
    BRANCH,
    SUGGESTION,
    feedback,
    say,
    straight,
    thread,
)


def die_in_step(world, talk, moment):
    """Have the process die in its step of that number, once its work is done and not yet kept."""
    step, begun = world.steps.step, []

    async def dies(name, work):
        if name in world.steps.kept:
            return await step(name, work)
        begun.append(name)
        if len(begun) == moment + 1:
            await work()
            raise talk.Killed
        return await step(name, work)

    world.steps.step = dies


@pytest.mark.parametrize("moment", range(14))
async def test_a_death_in_any_step_ends_as_if_nothing_had_happened(make, acts, wish, talk, moment):
    told = feedback(thread("T1", SUGGESTION), thread("T2", "Turn it.", line=6))
    answers = [
        acts.analyse(["t1"]),
        acts.change(old="a - b", new="-b + a"),
        acts.submit(),
        acts.verdict(),
        acts.update(("t1", "fixed", 1)),
    ]
    undisturbed = make(answers, told)
    expected = await undisturbed.resolve(wish)
    assert len(undisturbed.steps.kept) == 13, "each step is a moment"
    world = make(answers, told)
    die_in_step(world, talk, moment)

    if moment < 13:
        with pytest.raises(talk.Killed):
            await world.resolve(wish)
    outcome = await world.resolve(wish)

    assert outcome == expected
    assert world.publisher.pushed == undisturbed.publisher.pushed
    assert world.reviewing.replies == undisturbed.reviewing.replies
    assert world.reviewing.resolved == undisturbed.reviewing.resolved
    assert world.reviewing.dealt == undisturbed.reviewing.dealt
    assert world.publisher.comments == undisturbed.publisher.comments
    assert world.model.answers == []


EFFECTS = ("push", "comment", "reply", "resolve", "ask_again", "dealt_with")


@pytest.mark.parametrize("moment", range(8))
async def test_a_death_right_after_anything_that_people_see_ends_the_same(
    make, acts, wish, talk, moment
):
    """GitHub shows what is left of it: threads that are closed are not in the feedback any more."""
    told = feedback(thread("T1", SUGGESTION), thread("T2", "Turn it.", line=6))
    answers = [
        acts.analyse(["t1"]),
        acts.change(old="a - b", new="-b + a"),
        acts.submit(),
        acts.verdict(),
        acts.update(("t1", "fixed", 1)),
    ]
    world = make(answers, told)
    done = []

    def run_and_die(port, name):
        effect = getattr(port, name)

        async def dies(*given, **named):
            result = await effect(*given, **named)
            done.append(name)
            if len(done) == moment + 1:
                raise talk.Killed
            return result

        return dies

    for port in (world.publisher, world.reviewing):
        for name in EFFECTS:
            if hasattr(port, name):
                setattr(port, name, run_and_die(port, name))
    look = world.reviewing.feedback

    async def feedback_now(**asked):
        found = await look(**asked)
        left = [each for each in found.threads if each.id not in world.reviewing.resolved]
        ours = {
            ident: (*each.said, say("ours", 9, own=True, verdict="fixed"))
            for each in left
            if (ident := each.id) in world.reviewing.replies
        }
        threads = [e.model_copy(update={"said": ours.get(e.id, e.said)}) for e in left]
        return found.model_copy(update={"threads": tuple(threads)})

    world.reviewing.feedback = feedback_now

    with pytest.raises(talk.Killed):
        await world.resolve(wish)
    await world.resolve(wish)

    assert list(world.publisher.pushed) == [BRANCH]
    assert list(world.reviewing.replies) == ["T1", "T2"]
    assert world.reviewing.resolved == ["T1", "T2"]
    assert world.reviewing.requested == ["mara"]
    assert world.reviewing.dealt[0].pushed == world.publisher.pushed[BRANCH]
    assert "2 fixed" in world.publisher.comments["ledger"]
    assert world.model.answers == []


async def test_a_cancel_after_the_push_leaves_no_thread_without_its_answer(make, acts, wish, talk):
    """What was pushed cannot be taken back, so people hear of it."""
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))
    world.steering = talk.Steering()
    push = world.publisher.push

    async def cancelled_then(branch, commit, *, replacing):
        url = await push(branch, commit)
        world.steering.say("cancel", via="pull_request")
        return url

    world.publisher.push = cancelled_then

    outcome = await world.resolve(wish)

    assert list(world.publisher.pushed) == [BRANCH], "nothing is kept that has landed"
    assert world.reviewing.resolved == ["T1"]
    assert world.reviewing.dealt[0].pushed == world.publisher.pushed[BRANCH]
    assert outcome.kind == "comment"


async def test_a_run_that_fails_after_the_push_keeps_nothing_twice(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))

    async def refuse(key, body):
        raise RunError("The conversation is locked.")

    world.publisher.comment = refuse

    outcome = await world.resolve(wish)

    assert list(world.publisher.pushed) == [BRANCH]
    assert outcome.kind == "failed"
    assert "locked" in outcome.text
    assert "pushed already" in outcome.text
