"""What people do to a pull request while Fettle is at work on it comes first."""

from __future__ import annotations

from app.github.transport.idempotent_comments import make_marker
from tests.flows.address.reviewed import (
    edit,
    make_changes,
    open_reviewed,
    script,
    sort,
    word_update,
)
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

ONE = script(
    sort(["t1"]),
    make_changes(edit("range(len(prices))", "range(0, len(prices))")),
    word_update(("t1", "fixed", 1)),
)
NEXT = script(sort((), [("t1", "question")]))
TWO = script(
    sort(["t1", "t2"]),
    make_changes(
        [
            edit("range(len(prices))", "range(0, len(prices))"),
            edit("'euro', 'cent'", "'euro', 'cents'", path="words.py"),
        ]
    ),
    word_update(
        ("t1", "fixed", 1),
        ("t2", "fixed", 1),
        commits=[("Do as asked", ("calc.py", "words.py"))],
    ),
)
NEXT_TWO = script(sort((), [("t1", "question"), ("t2", "question")]))
THEIRS = "UNITS = ['euro', 'ct']\n"


async def act_meanwhile(at, act, *more):
    """Have somebody act while the engineer is at work on the one thread there is, or on more."""
    done = []

    async def act_once(asked):
        if asked.part == "# Make the changes of a review" and not done:
            done.append(asked)
            await act()

    at.place.model.on_answered(act_once)
    await at.review("mara", "", ("calc.py", 11, "Begin at nought."), *more)


async def test_what_contradicts_theirs_is_kept_back_and_said(share_place):
    async with open_reviewed(share_place, ONE) as at:
        theirs = "def total(prices):\n    return 0\n"
        await act_meanwhile(at, lambda: at.commit({"calc.py": theirs}, by="ola"))
        outcome = await at.place.ends("failed")

        assert await at.file("calc.py") == theirs
        assert at.pushes() == 0
        assert "contradict each other in `calc.py`. Theirs was left alone." in outcome.text
        [kept] = [name for name in await at.place.branches() if "unfinished" in name]
        assert "range(0, len(prices))" in await at.place.show(kept, "calc.py")
        assert at.verdicts()["calc.py:11"] == (["kept_back"], False)
        assert "contradict each other" in at.answers(at.thread("calc.py", 11))[0]
        assert "1 kept back; 100 % answered" in at.ledgers()[0]
        assert kept in at.ledgers()[0]
        assert "**Stopped.**" in at.place.progress()


async def test_what_a_rule_does_not_let_onto_the_branch_is_kept_apart_and_said(share_place):
    async with open_reviewed(share_place, ONE) as at:
        before = at.pull.head_sha

        async def add_ruleset():
            at.repository.app_branches = "refs/heads/bot/2-unfinished"  # a ruleset

        await act_meanwhile(at, add_ruleset)
        outcome = await at.place.ends("failed")

        assert at.pull.head_sha == before
        assert "a ruleset refused it" in outcome.text
        assert "Let the branches `bot/**` be an exception" in outcome.text
        [kept] = [name for name in await at.place.branches() if "unfinished" in name]
        assert "range(0, len(prices))" in await at.place.show(kept, "calc.py")
        assert at.verdicts()["calc.py:11"] == (["kept_back"], False)
        assert "a ruleset refused it" in at.answers(at.thread("calc.py", 11))[0]
        assert "1 kept back; 100 % answered" in at.ledgers()[0]


async def test_a_pull_request_that_ends_ends_the_run(share_place):
    """By a merge; a close calls a run back in the same way: tests/handlers/test_pull_request.py."""
    async with open_reviewed(share_place, ONE) as at:
        before = at.pull.head_sha
        await act_meanwhile(at, lambda: at.github.merge_pull(at.pull, at.people["mara"]))
        outcome = await at.place.ends("cancelled")

        assert "`mara` closed the pull request" in outcome.text
        assert at.pull.head_sha == before
        assert at.verdicts()["calc.py:11"] == ([], False)
        assert at.ledgers() == []


async def test_what_somebody_says_meanwhile_in_a_thread_begins_the_next_run(share_place):
    """Until then Fettle had said nothing there, and replies between people are passed over.

    A review during a run is in that one, too; what the runs cost is counted together.
    """
    async with open_reviewed(share_place, TWO) as at:
        at.pull.issue.body += f"\n\n{make_marker('a-run-before', 'pull-request')}"

        async def say_more():
            thread = at.thread("calc.py", 11)
            await at.github.reply(thread, at.people["mara"], "And call it price.")
            await at.review("ola", "", ("calc.py", 17, "Why in percent?"))

        async def play_next(asked):
            if asked.part == "# Write the update":
                at.place.model.play(NEXT_TWO)

        at.place.model.on_answered(play_next)
        await act_meanwhile(at, say_more, ("words.py", 1, "They are cents."))
        assert await at.all_over() == ["comment", "comment", "covered"]

        assert at.verdicts() == {
            "calc.py:11": (["later", "answered"], False),
            "words.py:1": (["fixed"], True),
            "calc.py:17": (["answered"], False),
        }
        first, _ = at.answers(at.thread("calc.py", 11))
        assert f"**Fixed** in [`{at.pull.head_sha[:10]}`]" in first
        assert "stays open: somebody has written here since it was read" in first
        one, two = at.ledgers()
        assert "2 threads: 1 fixed, 1 has newer words; 50 % answered." in one
        assert "2 threads: 2 answered; 100 % answered." in two
        assert at.pushes() == 1
        assert "6 model answers, in 2 runs" in at.pull.issue.body


async def test_thanks_keep_no_thread_open_and_what_was_pushed_meanwhile_has_ours_on_top(
    share_place,
):
    """Thanks want no answer either."""
    async with open_reviewed(share_place, ONE) as at:
        mara, before = at.people["mara"], at.pull.head_sha

        async def push_and_thank():
            await at.commit({"words.py": THEIRS}, by="ola")
            await at.github.reply(at.thread("calc.py", 11), mara, "Thanks, great!")

        await act_meanwhile(at, push_and_thank)
        assert await at.all_over() == ["comment", "covered"]
        assert at.verdicts()["calc.py:11"] == (["fixed"], True)
        await ours_is_on_top(at, before)

        at.place.model.play(NEXT)
        await at.review("mara", "", ("calc.py", 17, "Why in percent?"))
        assert (await at.all_over())[-1] == "comment"
        await at.github.reply(at.thread("calc.py", 17), mara, "I see.")
        at.place.model.play(NEXT)
        await at.review("ola", "", ("words.py", 1, "Any other currency?"))
        assert (await at.all_over())[-1] == "comment", "one thing was to be sorted"
        assert at.verdicts()["calc.py:17"] == (["answered"], False)


async def ours_is_on_top(at, before):
    """See that what somebody pushed stays, and ours comes after it."""
    titles = [(c.title, c.parents) for c in await at.list_commits(before)]
    assert [title for title, _ in titles] == ["By ola", "Do as asked"]
    assert await at.file("words.py") == THEIRS
    assert "range(0, len(prices))" in await at.file("calc.py")
    assert at.pull.head_sha[:10] in at.answers(at.thread("calc.py", 11))[0]
    assert "this was put on top of theirs and checked anew" in at.ledgers()[0]
    assert not any(push.forced for push in at.repository.pushes)
