"""A run on a pull request pushes to that one's branch alone, and never over somebody's work."""

from __future__ import annotations

import pytest

from agents.errors import Moved, RunError
from agents.requests import UpdateBranch
from app.git.mirror.mirror import Mirror
from app.git.ref_names import branch_ref, pull_ref
from app.github.pulls.publisher import GitHubPublisher
from app.github.transport.tokens import Profile, Scope
from app.simulator.github.gitdir import GitDir

RUN = "0001-run"


@pytest.fixture
async def mirror(scene, tmp_path):
    return Mirror(tmp_path / "mirror.git")


@pytest.fixture
def run(pulled, scene, mirror):
    """A run on the pull request: what it sees, commits and pushes."""

    class PullRun:
        def __init__(self, request):
            self.scene = scene
            self.publisher = GitHubPublisher(
                scene.github, mirror, request, RUN, scene.redactor, settle=0
            )

        async def sees(self, branch="feature"):
            url, ref = scene.github.urls.clone("ada/parse"), branch_ref(RUN, branch)
            return await mirror.fetch_branch(url, await self._token(), branch, ref)

        async def sees_pull(self):
            url, ref = scene.github.urls.clone("ada/parse"), pull_ref(RUN, 2)
            return await mirror.fetch_pull(url, await self._token(), 2, ref)

        async def commit(self, *parents, subject="Work"):
            tree = await mirror.git.local("rev-parse", f"{parents[0]}^{{tree}}")
            who = ("-c", "user.name=x", "-c", "user.email=x@x")
            on = (option for parent in parents for option in ("-p", parent))
            words = ("commit-tree", *on, "-m", subject, tree.decode().strip())
            return (await mirror.git.local(*who, *words)).decode().strip()

        async def _token(self):
            scope = Scope.for_one(scene.installation.id, scene.repository.id, Profile.READ)
            return (await scene.github.broker.token(scope)).value

    return PullRun(pulled.request)


async def tips(scene):
    found = await GitDir(scene.repository.gitdir).refs()
    return {ref.removeprefix("refs/heads/"): sha for ref, sha in found.items()}


async def refuse_push(run, branch, commit, words, error=RunError):
    """Push, and see that it is refused and nothing of the repository changed."""
    before = await tips(run.scene)
    with pytest.raises(error, match=words):
        await run.publisher.push(branch, commit)
    assert await tips(run.scene) == before


# --- its own branch -------------------------------------------------------------------------------


async def test_work_goes_to_the_branch_of_the_pull_request(pulled, scene, run):
    commit = await run.commit(await run.sees())
    page = await run.publisher.push("feature", commit)
    assert page.endswith("/ada/parse/tree/feature")
    assert (await tips(scene))["feature"] == commit
    assert pulled.pull.head_sha == commit
    assert await run.publisher.push("feature", commit) == page  # as after a crash
    live = [dict(token.permissions) for token in scene.server.tokens._live.values()]
    assert not any(permissions.get("contents") == "write" for permissions in live)


async def test_a_branch_may_have_in_its_name_what_means_something_in_addresses(pulled, scene, run):
    request, named = pulled.request, "fix/#2&x=%2F"
    opened = await scene.server.commit(
        scene.repository, {"a": "b"}, author=scene.people["bob"], message="m", branch=named
    )
    pull = await scene.server.open_pull(
        scene.repository, scene.people["bob"], title="Two", head=named
    )
    other = type(run)(request.model_copy(update={"number": pull.issue.number}))
    assert await other.sees(named) == opened
    commit = await other.commit(opened)
    await other.publisher.push(named, commit)
    assert pull.head_sha == commit


async def test_what_the_run_saw_of_the_pull_request_will_do(pulled, scene, run):
    commit = await run.commit(await run.sees_pull())
    await run.publisher.push("feature", commit)
    assert (await tips(scene))["feature"] == commit


async def test_a_branch_of_fettles_own_is_there_for_what_finds_no_place(pulled, scene, run):
    commit = await run.commit(await run.sees())
    await run.publisher.push("bot/2-unfinished-f00", commit)
    assert (await tips(scene))["bot/2-unfinished-f00"] == commit


async def test_a_merge_goes_on_from_what_was_there(pulled, scene, mirror, run):
    about = pulled.request.model_dump(exclude={"kind", "review_id", "submitted_at", "via"})
    run = type(run)(UpdateBranch(**about))
    head, main = await run.sees(), await run.sees("main")
    commit = await run.commit(head, main, subject="Merge main")
    await run.publisher.push("feature", commit)
    assert (await tips(scene))["feature"] == commit


# --- somebody else was there ----------------------------------------------------------------------


async def test_a_push_by_somebody_else_is_left_alone(pulled, scene, run):
    commit = await run.commit(await run.sees())
    await scene.server.commit(
        scene.repository, {"a": "b"}, author=scene.people["bob"], message="m", branch="feature"
    )
    await refuse_push(run, "feature", commit, "somebody else changed it", Moved)


async def test_what_somebody_took_away_does_not_come_back(pulled, scene, run):
    seen = await run.sees()
    commit = await run.commit(seen)
    main = (await tips(scene))["main"]
    await scene.server.push(scene.repository, "feature", main, scene.people["bob"])
    await refuse_push(run, "feature", commit, "somebody else changed it", Moved)


async def test_a_push_between_our_look_and_our_push_is_left_alone(pulled, scene, run):
    commit = await run.commit(await run.sees())
    theirs = []

    async def push(_request):
        theirs.append(
            await scene.server.commit(
                scene.repository,
                {"a": "b"},
                author=scene.people["bob"],
                message="m",
                branch="feature",
            )
        )

    scene.server.faults.call_before("POST", "/git-receive-pack$", push)
    with pytest.raises(Moved, match="Nothing was overwritten"):
        await run.publisher.push("feature", commit)
    assert (await tips(scene))["feature"] == theirs[0]


async def test_a_branch_that_was_deleted_stays_deleted(pulled, scene, run):
    commit = await run.commit(await run.sees())
    git = GitDir(scene.repository.gitdir)
    await git.run("update-ref", "-d", "refs/heads/feature")  # GitHub has not closed it yet
    await refuse_push(run, "feature", commit, "`feature` was deleted", Moved)


# --- attacks --------------------------------------------------------------------------------------


async def test_another_branch_is_not_pushed(pulled, scene, run):
    commit = await run.commit(await run.sees())
    for branch in ("main", "other", "refs/heads/main", "HEAD", "feature:refs/heads/main", "-x"):
        await refuse_push(run, branch, commit, "Nothing was pushed")


async def test_a_pull_request_from_the_default_branch(pulled, scene, run):
    """Whoever opens one from `main` would have Fettle push there."""
    await scene.server.push(
        scene.repository, "release", (await tips(scene))["main"], scene.people["ada"]
    )
    pulled.pull.head, pulled.pull.base = "main", "release"
    commit = await run.commit(await run.sees("main"))
    await refuse_push(run, "main", commit, "default branch, `main`")


async def test_a_default_branch_that_is_another_one_by_now(pulled, scene, run):
    commit = await run.commit(await run.sees())
    scene.repository.default_branch = "feature"
    await refuse_push(run, "feature", commit, "default branch, `feature`")


async def test_a_pull_request_that_was_retargeted_to_its_own_branch(pulled, scene, run):
    commit = await run.commit(await run.sees())
    pulled.pull.base = "feature"
    await refuse_push(run, "feature", commit, "the one that it wants to go to")


async def test_a_pull_request_whose_branch_lies_elsewhere_by_now(pulled, scene, run):
    """A fork's branch of the same name must not open the way to ours."""
    commit = await run.commit(await run.sees())
    fork = await scene.server.fork_repository(scene.repository, scene.people["eve"])
    pulled.pull.head_repository = fork
    await refuse_push(run, "feature", commit, "the fork `eve/parse`")
    await scene.server.delete_repository(fork)
    await refuse_push(run, "feature", commit, "has been deleted")


async def test_a_branch_of_fettles_own_is_no_way_around(pulled, scene, run):
    """A fork's branch named like one of ours must not open it either."""
    name = "bot/1-accept-nine-digits-abc123"
    await scene.server.push(
        scene.repository, name, (await tips(scene))["feature"], scene.people["ada"]
    )
    fork = await scene.server.fork_repository(scene.repository, scene.people["eve"])
    pulled.pull.head, pulled.pull.head_repository = name, fork
    commit = await run.commit(await run.sees(name))
    await refuse_push(run, name, commit, "the fork `eve/parse`")


async def test_a_pull_request_that_was_closed_meanwhile(pulled, scene, run):
    commit = await run.commit(await run.sees())
    await scene.server.close_issue(scene.repository, 2, scene.people["bob"])
    await refuse_push(run, "feature", commit, "#2 was closed while Fettle was at work")


async def test_a_pull_request_that_was_merged_meanwhile(pulled, scene, run):
    commit = await run.commit(await run.sees())
    await scene.server.merge_pull(pulled.pull, scene.people["ada"])
    await refuse_push(run, "feature", commit, "#2 was merged while Fettle was at work")


async def test_a_run_of_an_issue_pushes_to_nobodys_branch(scene, run):
    commit = await run.commit(await run.sees())
    run = type(run)(scene.request)
    await refuse_push(run, "feature", commit, r"named `bot/\.\.\.` only")
