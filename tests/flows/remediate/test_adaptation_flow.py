"""Code adapted to another bot's update whose branch does not take it: a pull request on top."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager

from agents.pipelines.checks.consider import MOST_STACKED
from app.simulator.github.gitdir import GitDir
from tests.flows.address.reviewed import (
    BASE,
    HEAD,
    POLICY,
    UNNAMED,
    edit,
    open_reviewed,
    script,
)
from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import part

pytestmark = ONE_LOOP

ADAPTING = BASE | {".github/fettle.yml": f"{POLICY}remediation: {{adapt: true}}\n"}
BRANCH = "dependabot/pip/prices-2.0.0"
UPDATE = HEAD | {"prices.lock": "prices 2.0.0\n"}
TITLE = "Bump prices from 1.0.0 to 2.0.0"
CURE = edit("range(len(prices))", "range(0, len(prices))")


def adapts(cure=CURE, checks=("c1",)):
    """Return a model that has the code follow the update, which is why these checks fail."""
    why = "The loop counts where it should go over the prices."
    done = {
        "causes": [{"about": each, "kind": "branch", "why": why} for each in checks],
        "summary": "The loop begins at nought, as the new release wants it.",
    }
    return script(part("# Mend the checks of a pull request", cure, {"submit_checks_fixed": done}))


@asynccontextmanager
async def open_update(share_place, *, base=ADAPTING, **about):
    """Set up a bot's pull request on a branch that a ruleset keeps from Fettle."""
    async with open_reviewed(share_place, adapts(), base=base) as at:
        await update(at, **about)
        yield at


async def update(at, **about):
    """Have the bot open a pull request, the first or another one, for which a model is there."""
    wanted = {"branch": BRANCH, "files": UPDATE, "title": TITLE} | about
    at.place.model.play(adapts())
    at.pull = await at.github.bot_pull(at.repository, at.github.dependabot, **wanted)
    at.place.issue = at.pull.issue


async def fail(at, pull, name="lint"):
    """Let a check of Actions fail on the pull request's head."""
    await at.github.complete_check(
        at.repository, pull.head_sha, name=name, conclusion="failure", log="calc.py:11: C0200"
    )


def list_stacked(at):
    """Return Fettle's pull requests that were made to stand on the bot's, oldest first."""
    start = f"bot/{at.pull.issue.number}-adapt-"
    found = [each for each in at.repository.pulls() if each.head.startswith(start)]
    return sorted(found, key=lambda each: each.issue.number)


async def fail_newly(at):
    """Let a check fail on the bot's pull request, and return what was made to stand on it."""
    before = await at.all_over()
    await fail(at, at.pull)
    await at.place.wait_for_ends(len(before) + 1)
    ends = await at.ends()
    assert ends[-1][0] == "pull_request", ends
    return list_stacked(at)[-1]


async def make_anew(at, files):
    """Have the bot make its branch anew from the default branch as it is now."""
    bot = at.github.dependabot
    place = {"author": bot, "message": TITLE, "branch": "dependabot/anew"}
    sha = await at.github.commit(at.repository, files, **place)
    await at.github.push(at.repository, at.pull.head, sha, bot)


def said_on(pull):
    return "\n".join(remark.body for remark in pull.issue.comments)


async def test_where_the_branch_takes_no_push_the_change_is_a_pull_request_on_top(share_place):
    async with open_update(share_place) as at:
        before, number = at.pull.head_sha, at.pull.issue.number
        made = await fail_newly(at)

        assert (made.base, at.pull.head_sha, made.draft) == (BRANCH, before, False)
        [commit] = await GitDir(at.repository.gitdir).commits(f"{before}..{made.head_sha}")
        assert commit.title == "Fix the check `lint`"
        assert "range(0, len(prices))" in await at.place.show(made.head_sha, "calc.py")
        assert await at.place.show(made.head_sha, "prices.lock") == "prices 2.0.0\n"
        assert made.issue.title == f"Adapt the code to #{number}: {TITLE}"
        assert f"This stands on #{number}, an update of `dependabot[bot]`" in made.issue.body
        assert "a ruleset refused it" in made.issue.body
        assert "| `lint` (`github-actions`) | because of the update: The loop" in made.issue.body
        assert "The loop begins at nought, as the new release wants it." in made.issue.body
        assert "| `tests` | passed | passed |" in made.issue.body
        assert "### Cost\n\n$0.0" in made.issue.body
        told = [each for each in at.place.comments() if "key=checks" in each]
        assert len(told) == 1
        assert f"What mends them is a pull request of its own, #{made.issue.number}" in told[0]

        asked, said = len(at.place.model.requests), len(at.place.comments())
        await fail(at, at.pull, name="types")
        await at.all_over()
        assert list_stacked(at) == [made]
        assert len(at.place.model.requests) == asked
        assert len(at.place.comments()) == said

        await _hold_against_the_update(at, made)
        second = await _retry(at, made)
        await at.github.close_issue(at.repository, number, at.github.dependabot)
        await _wait_until_gone(at, second)


async def _hold_against_the_update(at, made):
    """Its own failing checks are held against what the update wants to go to."""
    first, before = made.head_sha, await at.all_over()
    at.place.model.play(adapts(edit("range(0, len(prices))", "range(0, len(prices), 1)")))
    await fail(at, made)
    await at.place.wait_for_ends(len(before) + 1)
    assert await at.all_over() == [*before, "comment"]
    assert made.head_sha != first
    assert "because of this branch" in said_on(made)
    assert "fails on" not in said_on(made)


async def _retry(at, first):
    """What a retry makes takes the place of what stood there; return it."""
    before = await at.all_over()
    at.place.model.play(adapts(checks=("c1", "c2")))
    await at.place.say("mara", "/bot retry")
    await at.place.wait_for_ends(len(before) + 1)
    assert await at.all_over() == [*before, "pull_request"]
    [_, second] = list_stacked(at)
    assert (first.issue.state, second.issue.state) == ("closed", "open")
    assert f"#{second.issue.number} takes the place of this one" in said_on(first)
    return second


async def _wait_until_gone(at, made):
    """A closed update takes along what stands on it."""
    await at.place.wait_until(lambda: "was closed and not merged" in said_on(made))
    await at.place.wait_until(lambda: made.issue.state == "closed")


async def test_made_anew_by_the_bot_it_is_adapted_anew_until_a_person_has_to_look(share_place):
    async with open_update(share_place) as at:
        await _close_what_stood_on_what_is_made_anew(at)
        for number in range(1, MOST_STACKED):
            at.place.model.play(adapts())
            second = await fail_newly(at)
            assert second.issue.state == "open"
            assert f"The code is adapted in #{second.issue.number}" in said_on(at.pull)
            await make_anew(at, UPDATE | {"again.txt": f"{number}"})
        made = ", ".join(f"#{each.issue.number}" for each in list_stacked(at))
        asked = len(at.place.model.requests)
        await fail(at, at.pull)
        assert (await at.all_over())[-1] == "comment"
        assert f"adapted the code to this update in {made}, and the bot has" in said_on(at.pull)
        await make_anew(at, UPDATE | {"again.txt": "at last"})
        await fail(at, at.pull)
        assert (await at.all_over())[-1] == "covered"
        assert said_on(at.pull).count("and Fettle stops here") == 1
        assert len(at.place.model.requests) == asked
        assert len(list_stacked(at)) == MOST_STACKED


async def _close_what_stood_on_what_is_made_anew(at):
    """Have the bot make its branch anew: what was made to stand on it is closed."""
    first = await fail_newly(at)
    await at.commit({"later.py": "x = 1\n"}, branch="main")
    await make_anew(at, UPDATE)
    await at.place.wait_until(lambda: first.issue.state == "closed")
    assert f"The branch of #{at.pull.issue.number}" in said_on(first)


WORDS = "# @jonas <!-- fettle run=x key=pull-request --> /bot retry\nCloses #1"
HOSTILE = {"title": WORDS, "body": WORDS}


async def test_merged_it_goes_on_to_the_default_branch_and_hostile_names_act_nowhere(share_place):
    """Nothing is pushed for hostile names and texts but Fettle's own branch."""
    async with open_update(share_place) as at:
        await _merge(at, {"later.py": "x = 1\n"})
        await update(at, branch="dependabot/pip/prices-3.0.0", files={"prices.lock": "3.0.0\n"})
        await _merge(at, {"later.py": "x = 2\n"}, deleted=True)

        branch = "dependabot/pip/`@mara`<b>#1-4.0.0"
        await update(at, branch=branch, files={"prices.lock": "4.0.0\n"}, **HOSTILE)
        made = await _see_nothing_act(at, branch)
        await at.github.delete_branch(at.repository, branch, at.github.dependabot)
        await _wait_until_gone(at, made)

        # What nothing can tell of is a draft.
        policy = {".github/fettle.yml": f"{UNNAMED}quality: []\nremediation: {{adapt: true}}\n"}
        await at.commit(policy, branch="main")
        branch = "dependabot/--upload-pack=x"
        await update(at, branch=branch, files={"prices.lock": "5.0.0\n"}, **HOSTILE)
        made = await _see_nothing_act(at, branch)
        assert made.draft
        assert "Look at it before you merge: nothing could tell" in made.issue.body
        assert "What mends them is a draft pull request of its own" in said_on(at.pull)


async def _merge(at, later, *, deleted=False):
    """Have the update merged, and maybe its branch deleted: what stood on it goes on to `main`."""
    made = await fail_newly(at)
    before = await at.place.runs()
    await at.commit(later, branch="main")
    await at.github.merge_pull(at.pull, at.people["mara"])
    if deleted:
        await at.github.delete_branch(at.repository, at.pull.head, at.people["mara"])
    await at.place.all_done(len(before) + 1)
    assert (made.base, made.issue.state) == ("main", "open")
    assert await at.place.show(made.head_sha, "later.py") == later["later.py"]


async def _see_nothing_act(at, branch):
    before = await GitDir(at.repository.gitdir).refs()
    made = await fail_newly(at)
    after = await GitDir(at.repository.gitdir).refs()
    new = {ref for ref in after if ref.startswith("refs/heads/") and ref not in before}
    assert new == {f"refs/heads/{made.head}"}
    assert all(after[ref] == sha for ref, sha in before.items() if "heads" in ref)
    assert made.base == branch
    shown = made.issue.title + made.issue.body + said_on(at.pull)
    assert "@jonas" not in shown
    bare = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", shown, flags=re.DOTALL)
    assert "@mara" not in bare
    assert "<b>" not in bare
    assert made.issue.body.count("key=pull-request -->") == 1
    return made
