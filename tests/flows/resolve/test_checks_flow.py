"""Checks of other programs that fail on what Fettle pushed: mended where the policy wants it."""

from __future__ import annotations

from tests.flows.address.reviewed import BASE, HEAD, POLICY, edit, open_reviewed, script
from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import part

pytestmark = ONE_LOOP

MENDING = BASE | {".github/fettle.yml": f"{POLICY}checks: {{fix: true}}\n"}
ADAPTING = BASE | {
    ".github/fettle.yml": f"{POLICY}remediation: {{adapt: true}}\nsetup: {{run: []}}\n"
}
"""Without a set-up: no index of ours has the update, and nothing here asks for it."""
LOG = "calc.py:11:14: C0200 consider iterating instead of range and len"
CURES = [
    edit("range(len(prices))", "range(0, len(prices))"),
    edit("range(0, len(prices))", "range(0, len(prices), 1)"),
]


def fix(cure):
    """Return a model that mends the one check that fails."""
    cause = {
        "about": "c1",
        "kind": "branch",
        "why": "The loop counts where it should go over the prices.",
    }
    done = {"causes": [cause], "summary": "The loop reads as the linter wants it."}
    return script(part("# Mend the checks of a pull request", cure, {"submit_checks_fixed": done}))


async def fails(at, *, sha=None, name="lint"):
    """Let a check of Actions fail on the pull request's head, or elsewhere."""
    await at.github.complete_check(
        at.repository, sha or at.pull.head_sha, name=name, conclusion="failure", log=LOG
    )


def list_reports(at):
    return [body for body in at.place.comments() if "key=checks" in body]


async def test_a_failing_check_is_mended_twice_in_a_row_and_then_left_to_people(share_place):
    async with open_reviewed(share_place, fix(CURES[0]), base=MENDING) as at:
        before = at.pull.head_sha
        await fails(at)
        assert await at.all_over() == ["comment"]

        [commit] = await at.list_commits(before)
        assert commit.title == "Fix the check `lint`"
        assert "range(0, len(prices))" in await at.file("calc.py")
        assert LOG in await at.prompts()
        [first] = list_reports(at)
        assert f"### Checks that failed on {before[:10]}" in first
        assert "because of this branch: The loop counts" in first
        assert f"changed in {commit.sha[:10]}" in first

        at.place.model.play(fix(CURES[1]))
        await fails(at)
        assert await at.all_over() == ["comment", "comment"]
        twice, asked = at.pull.head_sha, len(at.place.model.requests)
        assert twice != commit.sha
        await fails(at)
        assert await at.all_over() == ["comment"] * 3

        assert at.pull.head_sha == twice
        assert len(at.place.model.requests) == asked
        assert "Fettle stops here" in list_reports(at)[-1]


async def test_what_fails_on_the_base_as_well_costs_nothing(share_place):
    async with open_reviewed(share_place, base=MENDING) as at:
        before = at.pull.head_sha
        await fails(at, sha=at.pull.base_sha)
        await fails(at)
        assert await at.all_over() == ["comment"]

        assert at.pull.head_sha == before
        assert at.place.model.requests == []
        [said] = list_reports(at)
        assert "fails on `main` as well" in said


async def test_nothing_happens_where_nobody_wants_it_or_somebody_else_pushed(share_place):
    async with open_reviewed(share_place) as at:
        await fails(at)
        assert set(await at.all_over()) <= {"covered"}
        assert at.place.comments() == []
        assert at.pull.issue.reactions == []

        await at.commit({".github/fettle.yml": MENDING[".github/fettle.yml"]}, branch="main")
        await at.commit({"words.py": "x = 1\n"}, by="ola")
        await fails(at)
        assert set(await at.all_over()) <= {"covered"}
        assert at.place.comments() == []
        assert at.place.model.requests == []


async def test_what_a_bots_update_breaks_is_adapted_on_its_branch_until_people_push(share_place):
    async with open_reviewed(share_place, fix(CURES[0]), base=ADAPTING) as at:
        at.repository.app_branches = "refs/heads/"
        at.pull = await at.github.bot_pull(
            at.repository,
            at.github.dependabot,
            branch="dependabot/pip/prices-2.0.0",
            files=HEAD | {"requirements.txt": "prices==2.0.0\n"},
            title="Bump prices from 1.0.0 to 2.0.0",
            body="Release notes: a range begins at nought, and says so.",
        )
        at.place.issue = at.pull.issue
        before = at.pull.head_sha
        await fails(at)
        assert await at.all_over() == ["comment"]

        [commit] = await at.list_commits(before)
        assert commit.title == "Fix the check `lint`"
        assert "range(0, len(prices))" in await at.file("calc.py")
        assert await at.file("requirements.txt") == "prices==2.0.0\n"
        assert "a range begins at nought, and says so." in await at.prompts()
        [said] = list_reports(at)
        assert "comment `@dependabot recreate`." in said

        await at.commit({"words.py": "x = 1\n"}, by="ola")
        asked = len(at.place.model.requests)
        await fails(at)
        assert (await at.all_over())[0] == "comment"
        assert len(list_reports(at)) == 1
        assert len(at.place.model.requests) == asked
