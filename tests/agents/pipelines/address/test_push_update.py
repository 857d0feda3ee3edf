"""What is pushed, kept back, or put on top of what others pushed meanwhile."""

import pytest

from agents.errors import Moved
from tests.agents.pipelines.address.pull_scene import (
    BRANCH,
    CODE,
    feedback,
    move,
    straight,
    subjects,
    thread,
)


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"replies": ()}, "Points without a reply: t1."),
        ({"replies": (("t1", "fixed", 2),)}, "without the number of a commit: t1."),
        ({"commits": (("Turn it", ("lib.py", "a.py")),)}, "changed files: a.py."),
        ({"commits": ()}, "`commits` needs at least one."),
        (
            {"commits": (("Turn it", ("lib.py",)), ("Turn more", ("lib.py",)))},
            "In more than one commit: lib.py.",
        ),
    ],
)
async def test_an_update_that_does_not_fit_is_sent_back(make, acts, wish, said, fault):
    said = {"replies": (("t1", "fixed", 1),), **said}
    wrong = acts.update(*said.pop("replies"), **said)
    answers = straight(acts)
    world = make([*answers[:4], wrong, answers[4]], feedback(thread("T1", "Turn it.")))

    await world.resolve(wish)

    assert fault in world.model.asked[-1]["messages"]


async def test_what_makes_a_check_fail_is_not_pushed(make, acts, wish):
    def check(files):
        return (1, "1 failed") if "b + a" in files["lib.py"] else (0, "ok")

    answers = straight(acts)
    told = feedback(thread("T1", "Turn it."), thread("T2", "Why?", line=6))
    answers[0] = acts.analyse(["t1"], [("t2", "question")])
    world = make([*answers[:3], *[acts.fix()] * 3, *answers[3:]], told, check=check)

    outcome = await world.resolve(wish)

    assert BRANCH not in world.publisher.pushed
    [kept] = world.publisher.pushed
    assert kept.startswith("bot/31-unfinished-")
    assert outcome.kind == "failed"
    assert "`tests`" in outcome.text
    assert {key: verdict for key, (verdict, _) in world.reviewing.replies.items()} == {
        "T1": "kept_back",
        "T2": "answered",
    }, "nothing is fixed that nobody can see, and whoever asked for it hears why"
    assert "`tests`" in world.reviewing.replies["T1"][1]
    assert world.reviewing.resolved == []
    assert world.reviewing.dealt[0].kept_back
    assert "100 %" in world.publisher.comments["ledger"]


async def test_why_a_change_is_kept_back_is_said_in_the_language_of_the_thread(make, acts, wish):
    def check(files):
        return (1, "1 failed") if "b + a" in files["lib.py"] else (0, "ok")

    answers = straight(acts)
    told = feedback(thread("T1", "Bitte dreh das um, es ist nicht richtig."))
    world = make([*answers[:3], *[acts.fix()] * 3, *answers[3:]], told, check=check)

    await world.resolve(wish)

    _, text = world.reviewing.replies["T1"]
    assert text.startswith("**Zurückgehalten**")
    assert "aber nicht gepusht. " in text
    assert "`tests`" in text
    ledger = world.publisher.comments["ledger"]
    assert "The changes were made, but not pushed." in ledger
    assert "aber nicht gepusht" not in ledger, "why stands there once, below the table"


async def test_what_people_push_meanwhile_comes_first_and_is_checked_with(make, acts, wish):
    answers = straight(acts)
    world = make(answers, feedback(thread("T1", "Turn it.")))
    ran = []

    def check(files):
        ran.append(dict(files))
        if len(ran) == 2:  # while the change is checked, somebody pushes
            move(world, {"new.py": "theirs\n"})
        return 0, "ok"

    world.commands["check"] = check

    await world.resolve(wish)

    pushed = world.publisher.pushed[BRANCH]
    assert [s for _, s in await world.source.commits(world.head, pushed)] == [
        "Theirs",
        "Turn the sum around",
    ]
    assert world.history.files(pushed)["new.py"] == "theirs\n"
    assert "b + a" in world.history.files(pushed)["lib.py"]
    assert [("new.py" in files, "b + a" in files["lib.py"]) for files in ran] == [
        (False, False),
        (False, True),
        (True, False),
        (True, True),
    ]
    assert pushed[:7] in world.reviewing.replies["T1"][1], "the commit has another name now"
    assert "on top of theirs" in world.publisher.comments["ledger"]


async def test_what_contradicts_other_peoples_commits_is_kept_back(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))
    world.commands["check"] = lambda files: (move(world, {"lib.py": "theirs\n"}), (0, ""))[1]

    outcome = await world.resolve(wish)

    assert world.history.files(world.source.branches[BRANCH])["lib.py"] == "theirs\n"
    assert outcome.kind == "failed"
    assert "contradict each other in `lib.py`" in outcome.text
    [(verdict, said)] = world.reviewing.replies.values()
    assert verdict == "kept_back"
    assert "contradict each other in `lib.py`" in said


async def test_what_is_worse_on_top_of_theirs_is_kept_back(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))

    def check(files):
        move(world, {"new.py": "theirs\n"})
        return (1, "both fail") if "new.py" in files and "b + a" in files["lib.py"] else (0, "ok")

    world.commands["check"] = check

    outcome = await world.resolve(wish)

    assert BRANCH not in world.publisher.pushed
    assert "`tests`" in outcome.text


async def test_a_branch_that_moves_at_the_last_moment_is_left_alone(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))
    push, tries = world.publisher.push, []

    async def push_late(branch, commit, *, replacing):
        tries.append(branch)
        if len(tries) == 1:
            move(world, {"new.py": "theirs\n"})
            raise Moved("moved")
        return await push(branch, commit)

    world.publisher.push = push_late

    await world.resolve(wish)

    assert world.history.files(world.publisher.pushed[BRANCH])["new.py"] == "theirs\n"


@pytest.mark.parametrize("state", ["closed", "merged"])
async def test_a_pull_request_that_ends_meanwhile_ends_the_run(make, acts, wish, state):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))

    def check(files):
        world.reviewing.is_now = world.reviewing.is_now.model_copy(update={"state": state})
        return 0, "ok"

    world.commands["check"] = check

    outcome = await world.resolve(wish)

    assert outcome.kind == "failed"
    assert f"#31 was {state} while Fettle was at work" in outcome.text
    assert BRANCH not in world.publisher.pushed


async def test_on_a_rewritten_branch_our_own_commits_are_made_anew_and_nothing_else(
    make, acts, wish
):
    answers = straight(acts)
    world = make(answers, feedback(thread("T1", "Turn it.")))

    def check(files):
        if "b + a" in files["lib.py"]:
            return 0, "ok"
        rewritten = world.history.tree({"lib.py": CODE, "other.py": "y = 2\n"})
        if world.source.branches[BRANCH] == world.head:
            amended = world.history.commit(rewritten, world.base, "Amended\n")
            world.source.branches[BRANCH] = amended
        return 0, "ok"

    world.commands["check"] = check

    await world.resolve(wish)

    pushed = world.publisher.pushed[BRANCH]
    assert subjects(world, pushed, world.base) == ["Amended", "Turn the sum around"]
    files = world.history.files(pushed)
    assert files["other.py"] == "y = 2\n"
    assert "more.py" not in files, "what people took off the branch does not come back"
    assert "b + a" in files["lib.py"]
    assert len(world.model.asked) == len(answers), "nothing is paid twice"
    assert world.reviewing.resolved == ["T1"]


async def test_a_rewritten_branch_that_contradicts_our_commits_is_left_alone(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))

    def check(files):
        move(world, {"lib.py": "rewritten\n"}, parent=world.base)
        return 0, "ok"

    world.commands["check"] = check

    outcome = await world.resolve(wish)

    assert BRANCH not in world.publisher.pushed
    assert outcome.kind == "failed"
    assert "contradict each other in `lib.py`" in outcome.text
    assert [verdict for verdict, _ in world.reviewing.replies.values()] == ["kept_back"]


async def test_who_keeps_pushing_is_not_told_of_loosened_tests(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))
    count = []

    def check(files):
        count.append(1)
        move(world, {f"new{len(count)}.py": "theirs\n"}, parent=world.source.branches[BRANCH])
        return 0, "ok"

    world.commands["check"] = check

    outcome = await world.resolve(wish)

    assert outcome.kind == "failed"
    assert "kept pushing" in outcome.text


async def test_what_others_have_pushed_is_not_noted_as_ours(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))

    def check(files):
        move(world, {"lib.py": CODE.replace("a + b", "b + a")})
        return 0, "ok"

    world.commands["check"] = check

    await world.resolve(wish)

    assert world.reviewing.dealt[0].pushed == ""
    assert world.reviewing.requested == []
