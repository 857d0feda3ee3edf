"""What a thread is told, and whether it is closed."""

import pytest

from agents.errors import RunError
from agents.ports import Remark
from tests.agents.pipelines.address.pull_scene import (
    AT,
    BRANCH,
    SUGGESTION,
    feedback,
    review,
    say,
    straight,
    thread,
)


@pytest.mark.parametrize(
    ("named", "fault"),
    [
        ((["t1"],), "Missing: t2."),
        ((["t1", "t2", "t1"],), "Named more than once: t1."),
        ((["t1"], [("t2", "question"), ("t9", "question")]), "Not one of the keys: t9."),
        ((["t1"], [("t2", "disagree")]), "Disagreed with a second time"),
        ((["t1"], [("t2", "style")]), "Disagreed with a second time"),
    ],
)
async def test_a_sorting_that_is_not_whole_is_sent_back(make, acts, wish, named, fault):
    told = feedback(
        thread("T1", "Turn it."),
        thread("T2", "Do it.", say("No.", 2, own=True, verdict="disagree"), "Do!", line=6),
    )
    rest = [acts.analyse(["t1", "t2"]), *straight(acts)[1:4]]
    ending = acts.update(("t1", "fixed", 1), ("t2", "needs_human", 0))
    world = make([acts.analyse(*named), *rest, ending], told)

    await world.resolve(wish)

    assert fault in world.model.asked[1]["messages"]
    assert world.reviewing.replies["T2"][0] == "needs_human"


async def test_a_thread_whose_file_the_commit_does_not_touch_stays_open(make, acts, wish):
    told = feedback(thread("T1", "Turn it.", path="more.py", line=1))
    world = make(straight(acts), told)

    await world.resolve(wish)

    assert world.reviewing.replies["T1"][0] == "fixed"
    assert "stays open" in world.reviewing.replies["T1"][1]
    assert world.reviewing.resolved == []


async def test_why_github_leaves_a_thread_open_is_said(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))
    world.reviewing.stays_open["T1"] = "the App may not resolve threads here"

    await world.resolve(wish)

    assert "the App may not resolve threads here" in world.publisher.comments["ledger"]


async def test_a_thread_that_takes_no_answer_costs_the_others_none(make, acts, wish):
    told = feedback(thread("T1", "Turn it."), thread("T2", "Why?", line=6))
    answers = [acts.analyse(["t1"], [("t2", "question")]), *straight(acts)[1:]]
    world = make(answers, told)
    reply = world.reviewing.reply

    async def fail_for_first(at, verdict, body):
        if at.id == "T1":
            raise RunError("The thread on `lib.py` cannot be answered: it is gone.")
        return await reply(at, verdict, body)

    world.reviewing.reply = fail_for_first

    outcome = await world.resolve(wish)

    assert set(world.reviewing.replies) == {"T2"}
    assert world.reviewing.resolved == []
    assert world.reviewing.dealt, "it is dealt with"
    assert "cannot be answered" in world.publisher.comments["ledger"]
    assert "50 % answered." in world.publisher.comments["ledger"]
    assert outcome.kind == "comment"


def change_feedback(world, *threads, **more):
    """Have GitHub say this from the second look at the feedback on."""
    looks = [world.reviewing.feedback_]

    async def look(*, outsiders=False):
        return looks.pop(0) if looks else feedback(*threads, **more)

    world.reviewing.feedback = look


async def test_what_somebody_says_meanwhile_keeps_a_thread_open_for_the_next_batch(
    make, acts, wish
):
    """What was read is answered; nothing is closed over words that nobody has read."""
    told = feedback(thread("T1", "Turn it."), thread("T2", "Why?", line=6))
    world = make([acts.analyse(["t1"], [("t2", "disagree")]), *straight(acts)[1:]], told)
    more = thread("T2", "Why?", "Rather leave it.", line=6)
    change_feedback(world, thread("T1", "Turn it.", "Stop, rather leave it."), more)

    await world.resolve(wish)

    assert [verdict for verdict, _ in world.reviewing.replies.values()] == ["later", "later"]
    first, second = (said for _, said in world.reviewing.replies.values())
    assert first.startswith("**Fixed** in ")
    assert second.startswith("**Not answered yet**.\n\nThis thread stays open: ")
    assert world.reviewing.resolved == []
    table = world.publisher.comments["ledger"]
    assert "the next run reads that" in table
    assert "2 threads: 2 have newer words; 0 % answered." in table


async def test_a_thread_whose_first_comment_somebody_deletes_is_answered_where_it_begins(
    make, acts, wish
):
    world = make(straight(acts), feedback(thread("T1", "Turn it.", "Please.")))
    post, roots = world.reviewing.reply, []
    change_feedback(world, thread("T1", "Turn it.", "Please.", root=99))

    async def reply(at, verdict, body):
        roots.append(at.root)
        return await post(at, verdict, body)

    world.reviewing.reply = reply

    await world.resolve(wish)

    assert roots == [99]


async def test_what_somebody_says_while_answers_are_posted_is_not_closed_over(make, acts, wish):
    told = feedback(thread("T1", "Turn it."), thread("T2", "This too.", line=6))
    first, *rest = straight(acts)[1:4]
    ending = acts.update(("t1", "fixed", 1), ("t2", "fixed", 1))
    world = make([acts.analyse(["t1", "t2"]), first, *rest, ending], told)
    post = world.reviewing.reply

    async def reply(thread_, verdict, body):
        world.wall += 60
        world.reviewing.feedback_ = feedback(thread("T2", "This too.", "Rather not.", line=6))
        return await post(thread_, verdict, body)

    world.reviewing.reply = reply

    await world.resolve(wish)

    assert [verdict for verdict, _ in world.reviewing.replies.values()] == ["fixed", "later"]
    assert world.reviewing.resolved == ["T1"]


async def test_a_thread_that_people_resolve_meanwhile_is_theirs(make, acts, wish):
    told = feedback(thread("T1", "Turn it."), thread("T2", "Hm.", line=6))
    answers = [acts.analyse(["t1"], [("t2", "disagree")]), *straight(acts)[1:]]
    world = make(answers, told)
    change_feedback(world, thread("T1", "Turn it."), resolved=1)

    await world.resolve(wish)

    assert set(world.reviewing.replies) == {"T1"}
    assert "50 % answered" in world.publisher.comments["ledger"], "no answer stands in it"


async def test_an_earlier_runs_answer_is_not_given_once_more(make, acts, wish):
    """A run that takes up an earlier one's stages knows nothing of what that has answered."""
    world = make(straight(acts), feedback(thread("T1", "Turn it.")))
    ours = say("**Fixed**", 2, own=True, verdict="fixed")
    change_feedback(world, thread("T1", "Turn it.", ours))

    await world.resolve(wish)

    assert world.reviewing.replies == {}
    assert world.reviewing.resolved == ["T1"]


async def test_a_thread_is_closed_by_the_commit_that_is_named_and_by_no_other(make, acts, wish):
    told = feedback(thread("T1", "Turn it."), thread("T2", "And this.", line=6))
    answers = [
        acts.analyse(["t1", "t2"]),
        acts.change(),
        acts.change("more.py", "x = 1", "y = 1"),
        acts.submit(),
        acts.verdict(),
        acts.update(
            ("t1", "fixed", 1),
            ("t2", "fixed", 2),
            commits=(("Turn the sum around", ("lib.py",)), ("Rename x", ("more.py",))),
        ),
    ]
    world = make(answers, told)

    await world.resolve(wish)

    assert world.reviewing.resolved == ["T1"]
    assert "stays open" in world.reviewing.replies["T2"][1]


async def test_a_suggestion_that_was_undone_later_leaves_its_thread_open(make, acts, wish):
    def check(files):
        return (1, "1 failed") if "b + a" in files["lib.py"] else (0, "ok")

    told = feedback(thread("T1", SUGGESTION), thread("T2", "Rename x.", path="more.py", line=1))
    answers = [
        acts.analyse(["t1"]),
        acts.change("more.py", "x = 1", "y = 1"),
        acts.submit(),
        acts.change(old="b + a", new="a + b"),
        acts.fix(),
        acts.verdict(),
        acts.update(("t1", "fixed", 1), commits=(("Rename x", ("lib.py", "more.py")),)),
    ]
    world = make(answers, told, check=check)

    await world.resolve(wish)

    assert world.reviewing.resolved == ["T2"]
    assert "stays open" in world.reviewing.replies["T1"][1]


async def test_words_beside_an_applied_suggestion_do_not_keep_its_thread_open(make, acts, wish):
    told = feedback(thread("T1", f"I would rather have this:\n\n{SUGGESTION}"))
    world = make([acts.analyse((), [("t1", "applied")])], told)

    await world.resolve(wish)

    pushed = world.publisher.pushed[BRANCH]
    assert world.reviewing.replies["T1"][0] == "fixed"
    assert pushed[:7] in world.reviewing.replies["T1"][1]
    assert world.reviewing.resolved == ["T1"]


async def test_nothing_is_called_applied_that_was_not(make, acts, wish):
    told = feedback(thread("T1", "Turn it."))
    world = make([acts.analyse((), [("t1", "applied")]), *straight(acts)], told)

    await world.resolve(wish)

    assert "No suggestion of it was applied: t1." in world.model.asked[1]["messages"]


async def test_answers_that_have_no_thread_are_read_whole_in_the_summary(make, acts, wish, talk):
    told = feedback(
        reviews=(review(7, "Why like this?"),),
        remarks=(Remark(id=5, author="ola", role="write", at=AT, body="And that?", edited=False),),
    )
    long = "Because of the order. " * 20 + "This is the end of it, @octo/everyone."
    answered = [
        {"about": "r1", "kind": "question", "reply": long},
        {"about": "c1", "kind": "question", "reply": "It is short."},
    ]
    world = make([[talk.use("submit_analysis", action_items=[], out_of_scope=answered)]], told)

    await world.resolve(wish)

    table = world.publisher.comments["ledger"]
    assert "This is the end of it" in table
    assert "@octo" not in table
    assert table.count("It is short.") == 1


async def test_what_is_not_shown_of_a_thread_is_told_to_whoever_sorts_it(make, acts, wish):
    """A maintainer agrees with a bot, whose words nobody here reads."""
    told = feedback(
        thread("T1", "Agreed, please fix.", by_outsiders=1, left_out=2),
        thread("T2", "Why?", line=6),
    )
    world = make([acts.analyse([], [("t1", "discussion"), ("t2", "question")])], told)

    await world.resolve(wish)

    asked = str(world.model.asked[0]["messages"])
    assert asked.count("Comments of this thread that you are not shown") == 1
    assert "beyond the limit:\\n3. Where the wish stands" in asked
