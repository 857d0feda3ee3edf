"""What was merged and broke something is found by the checks, and its way back is prepared."""

from __future__ import annotations

import asyncio

from sqlalchemy import select

from app.simulator.github.gitdir import GitDir
from app.store.tables import ended_pulls, runs
from tests.flows.conftest import CALC, CHECKED, PATIENCE, write_policy
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

HELD = (
    "import unittest\n\nimport calc\n\n\nclass Held(unittest.TestCase):\n    def test_held(self):\n"
)
OLD_WAY = {"test_held.py": f"{HELD}        self.assertEqual(calc.add(1, 1), 3)\n"}
"""A test of what the change changes, which came to the base while the pull request was open."""
UNRELATED = f"{HELD}        self.assertEqual(1, 2)\n"
OFF = write_policy("watch: {hours: 0}")


async def merge(place, *, before):
    """Have a pull request made and merged, behind a commit of others; return it."""
    await place.label()
    await place.ends("pull_request")
    [pull] = place.pulls()
    await commit(place, before)
    await place.github.merge_pull(pull, place.people["mara"])
    await wait_until_watched(place, pull)
    return pull


async def wait_until_watched(place, pull, *, looks=0):
    """Wait until the merge is on record, and was suspected that often."""
    query = select(ended_pulls.c.looks).where(
        ended_pulls.c.repository_id == place.repository.id,
        ended_pulls.c.number == pull.issue.number,
    )
    async with asyncio.timeout(PATIENCE):
        while await place.database().read(lambda connection: connection.scalar(query)) != looks:
            await asyncio.sleep(0.05)


async def commit(place, files):
    mara = place.people["mara"]
    return await place.github.commit(place.repository, files, author=mara, message="More")


async def break_checks(place):
    """Have a check of the newest commit of the default branch fail; return the commit."""
    refs = await GitDir(place.repository.gitdir).refs()
    head = refs["refs/heads/main"]
    await place.github.complete_check(
        place.repository, head, name="CI", conclusion="failure", log=None, branch="main"
    )
    return head


async def kinds(place):
    """Return kind and state of all runs but the first."""
    query = select(runs.c.kind, runs.c.state).order_by(runs.c.created_at).offset(place.past + 1)
    rows = await place.database().read(lambda connection: connection.execute(query).all())
    return [tuple(row) for row in rows]


async def test_what_began_with_the_merge_brings_its_way_back_and_one_comment(
    share_place, rest_referee
):
    """Through a power cut, when its way back is pushed and nobody knows of it.

    What others broke, or was mended meanwhile, was not laid at its door before.
    """
    async with share_place() as place:
        pull = await merge(place, before=OLD_WAY)
        asked, said, killed = len(place.model.requests), len(pull.issue.comments), []
        await others_broke_something_and_it_was_mended(place, pull)

        async def cut_power(_request):
            killed.append(await place.server.kill())

        await commit(place, OLD_WAY | {"test_theirs.py": "", "other.py": "OTHER = 1\n"})
        place.github.faults.call_after("POST", "git-receive-pack", cut_power)
        await break_checks(place)
        await place.wait_until(lambda: killed)
        await place.server.start(place.app)
        await place.all_over("done", "covered", "done")

        assert len(place.model.requests) == asked, "no model is asked"
        _, undoing = place.pulls()
        assert undoing.issue.title == 'Revert "Add without one too many"'
        assert not undoing.draft
        text = undoing.issue.body
        assert text.startswith(f"Since #{pull.issue.number} was merged, this fails on `main`")
        assert "test_held" in text
        assert await place.show(undoing.head_sha, "calc.py") == CALC["calc.py"]
        assert await place.show(undoing.head_sha, "other.py") == "OTHER = 1\n"
        told = [each.body for each in pull.issue.comments[said:]]
        [comment] = [body for body in told if "Nothing is merged by itself" in body]
        assert f"#{undoing.issue.number} takes it back" in comment
        assert undoing.issue.state == "open"

        await commit(place, {"more.py": "MORE = 1\n"})
        await break_checks(place)
        await place.github.webhooks.wait_until_settled()
        assert len(await place.runs()) == 3, "what is taken back is looked into no more"
        called = [each for each in place.github.requests if each.path.startswith("/api/v3/")]
        assert rest_referee.problems(called) == []


async def others_broke_something_and_it_was_mended(place, pull):
    """One test fails since a commit that came later, another one did and does no more."""
    mended = {"test_held.py": f"{HELD}        self.assertEqual(calc.add(1, 1), 2)\n"}
    said = len(pull.issue.comments)
    await commit(place, mended | {"test_theirs.py": UNRELATED})
    await break_checks(place)
    await place.all_over("done", "covered")

    assert await kinds(place) == [("suspect_merge", "covered")]
    assert len(place.pulls()) == 1
    assert len(pull.issue.comments) == said, "nobody needs to hear of it"


async def test_what_git_alone_cannot_take_back_is_told_with_the_files(share_place):
    """Once the policy has it watched: where that watches nothing, no check is run."""
    async with share_place(OFF) as place:
        pull = await merge(place, before=OLD_WAY)
        said = len(pull.issue.comments)
        await break_checks(place)
        await place.all_over("done", "covered")
        assert await kinds(place) == [("suspect_merge", "covered")]
        assert len(place.pulls()) == 1
        assert len(pull.issue.comments) == said

        await commit(place, CHECKED | {"calc.py": "def add(a, b):\n    return b + a\n"})
        await break_checks(place)
        await place.all_over("done", "covered", "done")

        assert len(place.pulls()) == 1
        told = [each.body for each in pull.issue.comments[said:]]
        [comment] = [body for body in told if "Since this was merged" in body]
        assert "test_held" in comment
        assert "cannot be taken back by git alone" in comment
        assert "- `calc.py`" in comment


async def test_an_issue_that_names_it_has_it_looked_into_if_an_owner_wrote_it(share_place):
    """And whoever closes the way back that came of it is not brought another."""
    async with share_place() as place:
        pull = await merge(place, before=OLD_WAY)
        text = f"Since #{pull.issue.number} nothing adds up."

        for who, looked in (("eve", []), ("mara", [("suspect_merge", "done")])):
            await place.github.create_issue(place.repository, place.people[who], "It broke", text)
            await place.github.webhooks.wait_until_settled()
            await place.all_done(1 + len(looked))

            assert await kinds(place) == looked
            assert len(place.pulls()) == 1 + len(looked)

        _, undoing = place.pulls()
        await place.github.close_issue(place.repository, undoing.issue.number, place.people["mara"])
        await commit(place, {"more.py": "MORE = 1\n"})
        await break_checks(place)
        await place.github.webhooks.wait_until_settled()
        await place.all_done(2)

        assert len(place.pulls()) == 2


async def test_a_branch_that_is_only_called_like_one_of_ours_is_not_watched(share_place):
    async with share_place() as place:
        jonas = place.people["jonas"]
        broken = {"calc.py": "def add(a, b):\n    raise ValueError\n"}
        await place.github.commit(
            place.repository, broken, author=jonas, message="Mine", branch="bot/1-mine"
        )
        pull = await place.github.open_pull(
            place.repository, jonas, title="Mine", head="bot/1-mine"
        )
        await place.github.merge_pull(pull, place.people["mara"])
        await wait_until_watched(place, pull)

        for number in (1, 2):  # one after another, so that the first is decided by then
            await break_checks(place)
            await wait_until_watched(place, pull, looks=number)
            reads = 1 + number  # once for the merge itself
            await place.wait_until(lambda at=reads: count_reads(place, pull) >= at)
            await commit(place, {"more.py": f"MORE = {number}\n"})

        assert await place.runs() == []
        assert len(place.pulls()) == 1


def count_reads(place, pull):
    """Return how often Fettle has read the pull request."""
    read = f"/api/v3/repos/{place.repository.full_name}/pulls/{pull.issue.number}"
    return len([each for each in place.github.requests if each.path == read])
