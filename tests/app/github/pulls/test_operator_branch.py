"""A branch that the operator named is pushed to only where it is nobody else's."""

from __future__ import annotations

import pytest

from agents.errors import Moved, RunError
from agents.requests import Again
from app.git.mirror.mirror import Mirror
from app.github.pulls.publisher import GitHubPublisher
from app.github.transport.tokens import Profile, Scope
from app.simulator.github.gitdir import GitDir

RUN = "0001-run"
NAMED = "fix/jinja2"
OURS = f"Update jinja2\n\nFettle-Run: {RUN}\nFettle-Stage: fix/1"


class Publishing:
    """A run about alerts that was asked for on the machine, with a fix to push."""

    def __init__(self, alerted, mirror, **changes):
        self.alerted, self.mirror = alerted, mirror
        self.request = alerted.request.model_copy(
            update={"via": "terminal", "branch": NAMED, **changes}
        )
        scene = alerted.scene
        self.publisher = GitHubPublisher(
            scene.github, mirror, self.request, RUN, scene.redactor, settle=0
        )

    async def main(self):
        scene = self.alerted.scene
        scope = Scope.for_one(scene.installation.id, scene.repository.id, Profile.READ)
        token = (await scene.github.broker.token(scope)).value
        await self.mirror.fetch(scene.github.urls.clone("ada/parse"), token)
        return await self.mirror.head_of("main")

    async def commit(self, parent, message=OURS):
        tree = await self.mirror.git.local("rev-parse", f"{parent}^{{tree}}")
        who = ("-c", "user.name=x", "-c", "user.email=x@x")
        words = ("commit-tree", "-p", parent, "-m", message, tree.decode().strip())
        return (await self.mirror.git.local(*who, *words)).decode().strip()

    async def fix(self):
        return await self.commit(await self.main())

    async def refuse_push(self, commit, words, *, branch=None, error=RunError):
        """Push, and see that it is refused and nothing of the repository changed."""
        before = await tips(self.alerted)
        with pytest.raises(error, match=words):
            await self.publisher.push(branch or self.request.branch, commit)
        assert await tips(self.alerted) == before


@pytest.fixture
def publishing(alerted, tmp_path):
    alerted.repository.app_branches = "refs/heads/"
    mirror = Mirror(tmp_path / "mirror.git")
    return lambda **changes: Publishing(alerted, mirror, **changes)


async def tips(alerted):
    found = await GitDir(alerted.repository.gitdir).refs()
    return {ref.removeprefix("refs/heads/"): sha for ref, sha in found.items()}


async def test_a_new_name_is_taken_and_again_and_further(alerted, publishing):
    run = publishing()
    fix = await run.fix()
    assert (await run.publisher.push(NAMED, fix)).endswith(f"/tree/{NAMED}")
    await run.publisher.push(NAMED, fix)
    more = await run.commit(fix)
    await run.publisher.push(NAMED, more)
    assert (await tips(alerted))[NAMED] == more


async def test_what_another_of_its_processes_has_pushed_is_its_own(alerted, publishing):
    fix = await publishing().fix()
    await publishing().publisher.push(NAMED, fix)
    await publishing(again=Again(run_id=RUN)).publisher.push(NAMED, fix)
    assert (await tips(alerted))[NAMED] == fix


@pytest.mark.parametrize("via", ["alert", "schedule", "command"])
async def test_nobody_but_the_operator_names_one(publishing, via):
    run = publishing(via=via)
    await run.refuse_push(await run.fix(), "Only who asks on the machine")


async def test_another_name_than_the_one_that_was_given_is_refused(publishing):
    run = publishing()
    await run.refuse_push(await run.fix(), "named `bot/...` only", branch="fix/other")


@pytest.mark.parametrize("name", ["main", "MAIN", "develop", "Develop"])
async def test_the_default_branch_and_the_base_are_never_pushed(publishing, name):
    run = publishing(branch=name, base_branch="develop")
    await run.refuse_push(await run.fix(), "is to be merged into")


async def test_what_became_the_default_branch_meanwhile_is_not_either(alerted, publishing):
    run = publishing(branch="trunk")
    fix = await run.fix()
    alerted.repository.default_branch = "trunk"
    await run.refuse_push(fix, "is to be merged into")


@pytest.mark.parametrize(
    "name",
    [
        "HEAD",
        "refs/heads/main",
        "refs",
        "@",
        "a" * 40,
        "-d",
        "a..b",
        "a b",
        "a:main",
        "+x~1",
        "x.lock",
    ],
)
async def test_what_git_would_take_for_something_else_is_refused(publishing, name):
    run = publishing(branch=name)
    await run.refuse_push(await run.fix(), "taken for something else|cannot be the name")


async def test_an_older_branch_that_the_fix_would_move_is_somebody_elses(alerted, publishing):
    run = publishing(branch="release-1")
    await alerted.server.commit(
        alerted.repository,
        {"a.py": "1\n"},
        author=alerted.scene.people["ada"],
        message="One",
        branch="release-1",
    )
    run_main = await run.main()
    await run.refuse_push(await run.commit(run_main), "is there already", error=Moved)
    old = (await tips(alerted))["release-1"]  # the fix is built on it: it could be moved on
    await run.refuse_push(await run.commit(old), "is there already", error=Moved)


async def test_a_trailer_that_somebody_forged_makes_it_no_branch_of_ours(alerted, publishing):
    run = publishing()
    fix = await run.fix()
    await alerted.server.commit(
        alerted.repository,
        {"a.py": "1\n"},
        author=alerted.scene.people["mallory"],
        message=OURS,
        branch=NAMED,
    )
    await run.refuse_push(fix, "is there already", error=Moved)


async def test_commits_of_others_on_top_of_ours_are_left_alone(alerted, publishing):
    run = publishing()
    fix = await run.fix()
    await run.publisher.push(NAMED, fix)
    await alerted.server.commit(
        alerted.repository,
        {"a.py": "1\n"},
        author=alerted.scene.people["bob"],
        message="Mine",
        branch=NAMED,
    )
    await run.refuse_push(await run.commit(fix), "is there already", error=Moved)


@pytest.mark.parametrize("name", [NAMED, "fix/#12"])
async def test_a_protected_branch_is_never_pushed(alerted, publishing, name):
    run = publishing(branch=name)
    fix = await run.fix()
    await run.publisher.push(name, fix)
    alerted.server.faults.add("GET", "/branches/fix/.", protect_branch)
    await run.refuse_push(await run.commit(fix), "is protected")


async def protect_branch(_request, go_on):
    answer = await go_on()
    answer.text = answer.text.replace('"protected":false', '"protected":true').replace(
        '"protected": false', '"protected": true'
    )
    return answer


async def test_the_pull_request_goes_where_the_fix_is_wanted(alerted, publishing):
    await alerted.server.commit(
        alerted.repository,
        {"a.py": "1\n"},
        author=alerted.scene.people["ada"],
        message="One",
        branch="release-1",
    )
    run = publishing(base_branch="release-1", branch="")
    fix = await run.fix()
    await run.publisher.push("bot/deps-jinja2-0a1b2c", fix)
    pull = await run.publisher.open_pull_request(
        branch="bot/deps-jinja2-0a1b2c", commit=fix, title="Update jinja2", body="b", draft=False
    )
    assert pull.base == "release-1"
