"""Pull requests of forks: suggestions instead of pushes, and care with a stranger's code."""

import pytest

from agents.errors import BudgetExceeded
from agents.pipelines.registry import PIPELINES
from tests.agents.pipelines.address.pull_scene import (
    FORK,
    SUGGESTION,
    feedback,
    move,
    straight,
    thread,
)


async def test_a_fork_gets_suggestions_and_nothing_of_it_is_pushed(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")), **FORK)

    outcome = await world.resolve(wish)

    assert world.publisher.pushed == {}
    text, suggested = world.reviewing.suggested["suggestions"]
    assert [(s.path, s.start, s.end, s.lines) for s in suggested] == [
        ("lib.py", 2, 2, "    return b + a\n")
    ]
    assert "its branch lies in a fork." in text + world.publisher.comments["ledger"]
    assert world.reviewing.resolved == []
    assert outcome.kind == "comment"


async def test_what_a_reviewer_suggests_is_not_suggested_once_more(make, acts, wish):
    told = feedback(thread("T1", SUGGESTION), thread("T2", "Turn it.", line=6))
    change = acts.change(old="a - b", new="b - a")
    answers = [acts.analyse(["t1"]), change, *straight(acts)[2:]]
    world = make(answers, told, **FORK)

    await world.resolve(wish)

    text, suggested = world.reviewing.suggested["suggestions"]
    assert [(each.start, each.lines) for each in suggested] == [(6, "    return b - a\n")]
    assert "1 suggestion of the reviewers can be committed in the threads where it stands" in text
    assert [verdict for verdict, _ in world.reviewing.replies.values()] == ["suggested"] * 2


@pytest.mark.parametrize("ending", ["cancel", "failing"])
async def test_whatever_ends_a_run_on_a_fork_its_commits_are_not_pushed(
    make, acts, wish, talk, ending
):
    """The repository's own checks would run a stranger's code with its secrets."""
    answers = [*straight(acts)[:3], *[acts.fix()] * 3, *straight(acts)[3:]]
    world = make(answers, feedback(thread("T1", "Turn it.")), **FORK)
    world.steering = talk.Steering()

    def check(files):
        if ending == "cancel" and "b + a" in files["lib.py"]:
            world.steering.say("cancel")
        return (1, "failed") if "b + a" in files["lib.py"] else (0, "ok")

    world.commands["check"] = check

    outcome = await world.resolve(wish)

    assert world.publisher.pushed == {}
    assert outcome.kind == ("cancelled" if ending == "cancel" else "failed")
    assert "never pushed to this repository" in outcome.text


async def test_a_strangers_code_makes_the_run_careful(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")), **FORK)
    run = world.run(wish)

    await PIPELINES[type(wish)].work(run, wish)

    assert run.context.standing.tainted


async def test_a_fork_that_moved_meanwhile_gets_no_suggestions_for_other_lines(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")), **FORK)
    world.commands["check"] = lambda files: (move(world, {"lib.py": "theirs\n"}), (0, ""))[1]

    outcome = await world.resolve(wish)

    assert world.reviewing.suggested == {}
    assert outcome.kind == "failed"
    assert "pushed" in outcome.text
    assert world.publisher.pushed == {}
    assert "/commit/" not in world.publisher.comments["ledger"], "nobody could open that page"


async def test_work_without_money_left_is_no_pull_request_of_its_own(make, acts, wish):
    """Where Fettle cannot push to the branch for another reason than that it is a fork's."""
    told = feedback(thread("T1", "Turn it."))
    world = make(
        [*straight(acts)[:2], BudgetExceeded("The money is used up.")], told, why_not="No."
    )

    outcome = await world.resolve(wish)

    assert world.publisher.pulls == {}
    assert outcome.kind == "failed"
