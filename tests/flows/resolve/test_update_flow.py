"""`/bot update` merges the base branch into a pull request, and settles what contradicts."""

from __future__ import annotations

from tests.flows.address.reviewed import HEAD, open_reviewed, script
from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import bash, part

pytestmark = ONE_LOOP

PRODUCT = "\n\ndef mul(a, b):\n    return a * b\n"


def settle(text, *, undecided=()):
    """Return how calc.py is settled."""
    told = {"path": "calc.py", "how": "Both functions stand in it now."}
    done = {"settled": [told], "besides": [], "undecided": [], "summary": "Both sides added code."}
    if undecided:
        done |= {"settled": [], "undecided": [{"path": "calc.py", "question": undecided}]}
    write = {"write": {"path": "calc.py", "content": text}}
    check = bash("python3 -B -m unittest -q 2>&1 | tail -1")
    return part(
        "# Settle a merge",
        [{"read": {"path": "calc.py"}}],
        write,
        check,
        {"submit_resolution": done},
    )


async def test_what_git_can_merge_is_merged_without_a_model(share_place):
    async with open_reviewed(share_place) as at:
        base = await at.commit({"other.py": "x = 1\n"}, branch="main")
        before = at.pull.head_sha
        said = await at.place.say("mara", "/bot update")
        await at.place.ends("comment")

        assert [face.content for face in said.reactions] == ["+1"]
        merge = (await at.list_commits(before))[-1]
        assert merge.parents == [before, base]
        assert merge.title == f"Merge `main` into `{at.pull.head}`"
        assert await at.file("other.py") == "x = 1\n"
        assert at.place.model.requests == []
        assert any("### Merged `main`" in body for body in at.place.comments())
        assert not any(push.forced for push in at.repository.pushes)


async def test_a_merge_that_a_rule_does_not_let_onto_the_branch_is_told(share_place):
    async with open_reviewed(share_place) as at:
        await at.commit({"other.py": "x = 1\n"}, branch="main")
        before = at.pull.head_sha
        at.repository.app_branches = "refs/heads/bot/2-unfinished"  # a ruleset
        await at.place.say("mara", "/bot update")
        outcome = await at.place.ends("failed")

        assert at.pull.head_sha == before
        assert "a ruleset refused it" in outcome.text
        [told] = [body for body in at.place.comments() if "is not merged into this branch" in body]
        assert "a ruleset refused it" in told
        assert "Let the branches `bot/**` be an exception" in told


async def test_what_contradicts_is_settled_with_both_sides_kept(share_place):
    both = HEAD["calc.py"] + PRODUCT
    async with open_reviewed(share_place, script(settle(both))) as at:
        base = await at.commit(
            {"calc.py": "def add(a, b):\n    return a + b\n" + PRODUCT}, branch="main"
        )
        before = at.pull.head_sha
        await at.place.say("mara", "/bot update")
        await at.place.ends("comment")

        merge = (await at.list_commits(before))[-1]
        assert merge.parents == [before, base]
        assert await at.file("calc.py") == both
        [told] = [body for body in at.place.comments() if "### Merged `main`" in body]
        assert "**Conflicts, and how they were settled**" in told
        assert "`calc.py`: Both functions stand in it now." in told


async def test_what_people_have_to_decide_is_asked_and_nothing_is_merged(share_place):
    question = "Shall the product be here, or in a file of its own?"
    asking = script(settle(HEAD["calc.py"], undecided=question))
    async with open_reviewed(share_place, asking) as at:
        await at.commit({"calc.py": "def add(a, b):\n    return a + b\n" + PRODUCT}, branch="main")
        before = at.pull.head_sha
        await at.place.say("mara", "/bot update")
        await at.place.ends("comment")

        assert at.pull.head_sha == before
        assert any(question in body for body in at.place.comments())
