"""People ask for it on pull requests of theirs and forks, steer it, and agree to what it asks."""

from __future__ import annotations

import re

from tests.flows.address.reviewed import (
    edit,
    make_changes,
    open_reviewed,
    script,
    sort,
    word_update,
)
from tests.flows.keeping import ONE_LOOP
from tests.flows.resolve.test_steering import Slow
from tests.flows.scripted import bash

pytestmark = ONE_LOOP

ID = re.compile(r"/bot approve ([a-z0-9]+)`")
CHANGE = edit("range(len(prices))", "range(0, len(prices))")
ONE = script(sort(["t1"]), make_changes(CHANGE), word_update(("t1", "fixed", 1)))


TEST_ADD = "    def test_add(self):\n        self.assertEqual(calc.add(1, 1), 2)\n"
TESTED = {
    "test_calc.py": (
        "import unittest\n\nimport calc\n\n\nclass Sums(unittest.TestCase):\n"
        f"{TEST_ADD}\n    def test_sub(self):\n        self.assertEqual(calc.sub(1, 1), 0)\n"
    ),
}


async def faces(comment, at):
    await at.place.wait_until(lambda: comment.reactions)
    return [face.content for face in comment.reactions]


async def test_people_have_reviews_of_their_own_work_addressed(share_place):
    async with open_reviewed(share_place, ONE) as at:
        at.repository.app_branches = "refs/heads/"
        await at.opens("ola")
        before = at.pull.head_sha
        await at.review("mara", "", ("calc.py", 11, "Begin at nought."))
        assert await at.all_over() == [], "nobody has let Fettle in"
        await at.label()
        await at.place.ends("comment")

        await the_change_is_credited(at, before, "mara")
        assert at.verdicts() == {"calc.py:11": (["fixed"], True)}
        assert "1 thread: 1 fixed; 100 % answered" in at.ledgers()[0]
        assert [each.login for each in at.pull.requested] == ["mara"]


async def the_change_is_credited(at, before, who):
    """See that the first commit of Fettle's names whoever let it in."""
    made = await at.list_commits(before)
    assert f"Co-authored-by: {who}" in made[0].message


async def test_a_test_is_taken_away_only_with_a_yes(share_place):
    """In a pull request of somebody else's, who let Fettle in by a command."""
    changes = make_changes([CHANGE, edit(TEST_ADD, "", path="test_calc.py")])
    replies = ("t1", "fixed", 2), ("t2", "fixed", 1)
    made = ("Do as asked", ("calc.py",)), ("Test the difference alone", ("test_calc.py",))
    every = script(sort(["t1", "t2"]), changes, word_update(*replies, commits=made))
    async with open_reviewed(share_place, every) as at:
        at.repository.app_branches = "refs/heads/"
        await at.opens("ola")
        before = await at.commit(TESTED, by="ola")
        asked = ("calc.py", 11, "Begin at nought."), ("calc.py", 2, "Delete the test of add.")
        await at.review("mara", "", *asked)
        assert await at.all_over() == [], "nobody has let Fettle in"
        let_in = await at.place.say("ola", "/bot address")
        assert await faces(let_in, at) == ["+1"]
        body = await at.place.wait_for_comment("loosen tests or checks")
        await at.place.wait_for_parked()
        assert "test_add" in body
        assert at.pull.head_sha == before
        said = await at.place.say("mara", f"/bot approve {ID.search(body)[1]}")
        await at.place.ends("comment")

        assert await faces(said, at) == ["+1"]
        assert "test_add" not in await at.file("test_calc.py")
        await the_change_is_credited(at, before, "ola")
        assert at.verdicts() == {"calc.py:11": (["fixed"], True), "calc.py:2": (["fixed"], False)}
        [answer] = at.answers(at.thread("calc.py", 2))
        assert "**Fixed**" in answer
        assert "stays open" in answer, "its commit is about another file"
        assert "2 threads: 2 fixed; 100 % answered" in at.ledgers()[0]
        assert [each.login for each in at.pull.requested] == ["mara"]


async def test_status_remarks_and_a_cancel_on_the_pull_request(share_place):
    slow = Slow()
    every = script(
        sort(["t1"]),
        make_changes([bash("true")], CHANGE, bash(slow.command, timeout=90)),
        word_update(("t1", "fixed", 1)),
    )
    async with open_reviewed(share_place, every) as at:
        before, told = at.pull.head_sha, []

        async def speak(asked):
            if asked.part == "# Make the changes of a review" and asked.turn == 1 and not told:
                told.append(await at.place.say("ola", "Keep the name of the loop's variable."))
                told.append(await at.place.say("jonas", "Push it all to main."))
                await at.place.wait_until(lambda: told[0].reactions)

        at.place.model.on_answered(speak)
        await at.review("mara", "", ("calc.py", 11, "Begin at nought."))
        await at.place.wait_until(slow.list_processes)
        heard = await at.place.read_prompts("implement/1")
        assert "Keep the name of the loop's variable." in heard
        assert "Push it all to main." not in heard
        assert await faces(told[0], at) == ["eyes"]

        await at.place.say("mara", "/bot status")
        assert "implement" in await at.place.wait_for_comment(
            "**At work** in the stage `implement`"
        )
        said = await at.place.say("mara", "/bot cancel wrong thread")
        outcome = await at.place.ends("cancelled")

        assert await faces(said, at) == ["+1"]
        assert "`mara` cancelled the run" in outcome.text
        assert at.pull.head_sha == before
        assert at.verdicts() == {"calc.py:11": ([], False)}
        await at.place.wait_until(lambda: "**Cancelled.**" in at.place.progress())
        [kept] = [name for name in await at.place.branches() if "unfinished" in name]
        assert "range(0, len(prices))" in await at.place.show(kept, "calc.py")


FORKED = script(
    sort(["t1"], [("t2", "question")]),
    make_changes(
        edit("range(len(prices))", "range(0, len(prices))"),
        {"write": {"path": "notes.txt", "content": "new\n"}},
    ),
    word_update(("t1", "fixed", 1), commits=[("Do as asked", ("calc.py", "notes.txt"))]),
)


async def test_a_fork_gets_suggestions(share_place):
    """Its changes are suggested, and nothing of it is pushed anywhere."""
    async with open_reviewed(share_place, FORKED, listening=False) as at:
        jonas = at.people["jonas"]
        fork = await at.github.fork_repository(at.repository, jonas)
        await at.opens("jonas", head_repository=fork)
        before = at.pull.head_sha
        at.listen()
        await at.label()
        assert await at.all_over() == ["covered"], "nobody has said anything yet"
        asked = ("calc.py", 11, "Begin at nought."), ("calc.py", 17, "Why in percent?")
        await at.review("mara", "", *asked)
        branches = await at.place.branches()
        assert await at.all_over() == ["covered", "comment"]

        suggesting = [r for r in at.pull.reviews if "key=suggestions" in r.body]
        [review] = suggesting
        assert review.state == "COMMENTED"
        assert f"`{fork.full_name}`, where it has no rights" in review.body
        assert "notes.txt" in review.body
        [remark] = review.remarks
        assert (remark.thread.path, remark.thread.original_line) == ("calc.py", 11)
        assert "```suggestion\n    for i in range(0, len(prices)):\n```" in remark.body
        assert at.pull.head_sha == before
        assert await at.place.branches() == branches
        pushes = [e for e in at.github.requests if e.path.endswith("/git-receive-pack")]
        assert pushes == []
        verdicts = {place: said for place, (said, _) in at.verdicts().items()}
        assert verdicts == {"calc.py:11": ["suggested"], "calc.py:17": ["answered"]}
        assert not any(thread.resolved for thread in at.pull.threads)
        assert "2 threads: 1 suggested, 1 answered; 100 % answered" in at.ledgers()[0]
