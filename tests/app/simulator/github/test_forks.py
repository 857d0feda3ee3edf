"""Pull requests from forks, and how branches meet: merged, brought up to date, pushed anew."""

import pytest

from app.simulator.github.answers import ApiError
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.reviews import Inline
from tests.app.simulator.github.reviewing import comment_on_line, listen, open_ten, text
from tests.app.simulator.github.test_git_http import CleanGit, url


@pytest.fixture
def eve(scene):
    return scene.github.create_user("eve")


@pytest.fixture
async def fork(scene, eve):
    return await scene.github.fork_repository(scene.repository, eve)


@pytest.fixture
async def foreign(scene, eve, fork):
    """A pull request from the fork."""
    files = {"theirs.py": "1\n"}
    await scene.github.commit(fork, files, author=eve, message="Theirs", branch="theirs")
    return await scene.github.open_pull(
        scene.repository,
        eve,
        title="Theirs",
        head="theirs",
        head_repository=fork,
        maintainer_can_modify=True,
    )


async def test_a_pull_request_says_where_it_comes_from(scene, fork, foreign):
    call, path = scene.call(), f"{scene.base}/pulls/{foreign.issue.number}"
    shape = (await call("GET", path)).json
    assert shape["head"]["repo"]["full_name"] == "eve/anvil"
    assert (shape["head"]["repo"]["fork"], shape["base"]["repo"]["fork"]) == (True, False)
    assert (shape["head"]["label"], shape["maintainer_can_modify"]) == ("eve:theirs", True)
    assert shape["commits"] == 1
    [listed] = (await call("GET", f"{scene.base}/pulls?head=eve:theirs")).json
    assert listed["number"] == foreign.issue.number
    assert (await call("GET", f"{scene.base}/pulls?head=forge:theirs")).json == []
    assert (await call("GET", "/repos/eve/anvil")).status == 404  # the App is not installed there

    await scene.github.delete_repository(fork)
    shape = (await call("GET", path)).json
    assert (shape["head"]["repo"], shape["head"]["label"]) == (None, "eve:theirs")
    assert shape["state"] == "open"
    files = (await call("GET", f"{path}/files")).json
    assert [each["filename"] for each in files] == ["theirs.py"]


async def test_the_commits_of_a_fork_are_fetched_from_here(scene, eve, fork, foreign, tmp_path):
    later = {"theirs.py": "2\n"}
    sha = await scene.github.commit(fork, later, author=eve, message="More", branch="theirs")
    assert foreign.head_sha == sha
    await scene.github.delete_repository(fork)
    git, ref = (
        CleanGit(tmp_path, scene.token(contents="read")),
        f"refs/pull/{foreign.issue.number}/head",
    )
    listed = await git("ls-remote", url(scene), "refs/pull/*")
    assert listed.out.split() == [sha, ref]
    cloned = await git("clone", "-q", url(scene), "here")
    assert cloned.code == 0, cloned.err
    here = CleanGit(tmp_path / "here", scene.token(contents="read"))
    fetched = await here("fetch", "-q", url(scene), f"{ref}:refs/heads/look")
    assert fetched.code == 0, fetched.err
    assert (await here("show", "look:theirs.py")).out == "2\n"


@pytest.mark.parametrize(("private", "words"), [(True, "not found"), (False, "denied to mender")])
async def test_an_app_cannot_push_to_a_fork(scene, fork, foreign, tmp_path, *, private, words):
    """Not even where maintainers may: that is for people."""
    fork.private = scene.repository.private = private
    fork.app_branches = "refs/heads/"
    git = CleanGit(tmp_path, scene.token())
    assert (await git("clone", "-q", url(scene), "here")).code == 0
    here = CleanGit(tmp_path / "here", scene.token())
    pushed = await here("push", url(scene, "eve/anvil"), "HEAD:refs/heads/theirs")
    assert pushed.code != 0
    assert words in pushed.err
    update = await scene.call()(
        "PUT", f"{scene.base}/pulls/{foreign.issue.number}/update-branch", {}
    )
    assert update.status == 403
    if not private:
        assert (await git("ls-remote", url(scene, "eve/anvil"))).code == 0


async def test_a_fork_has_reviews_and_no_place_in_check_runs(scene, foreign):
    line = [Inline("theirs.py", 1, "Why one?")]
    await scene.github.submit_review(foreign, scene.ada, comments=line)
    assert foreign.threads[0].original.hunk == "@@ -0,0 +1 @@\n+1"
    check = await scene.github.complete_check(
        scene.repository, foreign.head_sha, name="t", conclusion="success"
    )
    shape = (await scene.call()("GET", f"{scene.base}/check-runs/{check.id}")).json
    assert shape["pull_requests"] == []


# --- merging --------------------------------------------------------------------------------------


async def test_a_person_merges(scene, aiohttp_server):
    pull = await open_ten(scene)
    got = await listen(scene, aiohttp_server, ["pull_request"])
    sha = await scene.github.merge_pull(pull, scene.ada)
    call, path = scene.call(), f"{scene.base}/pulls/{pull.issue.number}"
    shape = (await call("GET", path)).json
    assert (shape["state"], shape["merged"], shape["merged_by"]["login"]) == ("closed", True, "ada")
    assert (shape["merge_commit_sha"], shape["mergeable"]) == (sha, None)
    [closed] = got
    assert (closed["action"], closed["pull_request"]["merged"]) == ("closed", True)
    tips = await GitDir(scene.repository.gitdir).refs()
    assert tips["refs/heads/main"] == sha
    assert (await call("GET", f"{path}/merge")).status == 204
    again = await call("PATCH", path, {"state": "open"})
    assert again.status == 422
    with pytest.raises(ApiError):
        await scene.github.merge_pull(pull, scene.ada)


async def test_what_conflicts_is_neither_merged_nor_updated(scene):
    pull = await open_ten(scene)
    call, path = scene.call(), f"{scene.base}/pulls/{pull.issue.number}"
    nothing = await call("PUT", f"{path}/update-branch", {})
    assert (nothing.status, "no new commits" in nothing.json["message"]) == (422, True)
    files = {"ten.txt": text(_6="line VI")}
    await scene.github.commit(scene.repository, files, author=scene.ada, message="Other")
    refused = await call("PUT", f"{path}/update-branch", {})
    assert (refused.status, "merge conflict" in refused.json["message"]) == (422, True)
    with pytest.raises(ApiError, match="not mergeable"):
        await scene.github.merge_pull(pull, scene.ada)
    assert pull.facts.mergeable is False


async def test_an_app_brings_a_branch_up_to_date(scene, aiohttp_server):
    pull = await open_ten(scene)
    await comment_on_line(scene, pull, scene.owner, "Why?", line=30)
    files = {"ten.txt": "base\n" + text()}
    await scene.github.commit(scene.repository, files, author=scene.ada, message="Other")
    got = await listen(scene, aiohttp_server, ["pull_request"])
    call, path, old = scene.call(), f"{scene.base}/pulls/{pull.issue.number}", pull.head_sha
    stale = await call("PUT", f"{path}/update-branch", {"expected_head_sha": "0" * 40})
    assert stale.status == 422
    done = await call("PUT", f"{path}/update-branch", {"expected_head_sha": old})
    assert done.status == 202
    await scene.github.webhooks.wait_until_settled()
    [told] = got
    assert (told["action"], told["before"], told["after"]) == ("synchronize", old, pull.head_sha)
    [commit] = await GitDir(scene.repository.gitdir).commits(pull.head_sha, limit=1)
    assert commit.parents == [old, pull.base_sha]
    assert pull.threads[0].line == 31


async def test_an_app_updates_no_branch_that_it_may_not_push(scene):
    await open_ten(scene, opens=False)
    ada, files = scene.ada, {"x.py": "1\n"}
    await scene.github.commit(scene.repository, files, author=ada, message="x", branch="people/x")
    pull = await scene.github.open_pull(scene.repository, ada, title="X", head="people/x")
    await scene.github.commit(scene.repository, {"y.py": "1\n"}, author=ada, message="y")
    path = f"{scene.base}/pulls/{pull.issue.number}/update-branch"
    assert (await scene.call()("PUT", path, {})).status == 422
    scene.repository.app_branches = "refs/heads/"
    assert (await scene.call()("PUT", path, {})).status == 202


async def test_branches_are_pushed_anew_and_deleted(scene, aiohttp_server):
    pull = await open_ten(scene)
    first = pull.head_sha
    more = {"more.txt": "1\n"}
    await scene.github.commit(
        scene.repository, more, author=scene.ada, message="More", branch="bot/ten"
    )
    got = await listen(scene, aiohttp_server, ["pull_request", "push"])
    await scene.github.push(scene.repository, "bot/ten", first, scene.ada)
    assert pull.head_sha == first
    await scene.github.delete_branch(scene.repository, "bot/ten", scene.ada)
    assert [each["action"] for each in got] == ["synchronize", "closed"]
    assert scene.repository.pushes[-2].forced


@pytest.fixture
async def stacked(scene):
    """Two pull requests, the second on top of the first."""
    below = await open_ten(scene)
    await scene.github.commit(
        scene.repository, {"more.txt": "1\n"}, author=scene.ada, message="More", branch="bot/more"
    )
    path, wanted = f"{scene.base}/pulls", {"title": "More", "head": "bot/more"}
    assert (await scene.call()("POST", path, wanted | {"base": "bot/nine"})).status == 422
    await scene.github.push(scene.repository, "bot/same", below.head_sha, scene.ada)
    same = wanted | {"head": "bot/same", "base": "bot/ten"}
    assert (await scene.call()("POST", path, same)).status == 422
    assert (await scene.call()("POST", path, wanted | {"base": "bot/ten"})).status == 201
    [above] = [each for each in scene.repository.pulls() if each is not below]
    return below, above


async def test_on_a_merged_branch_that_is_deleted_it_moves_to_where_that_went(scene, stacked):
    below, above = stacked
    await scene.github.merge_pull(below, scene.ada)
    assert above.base == "bot/ten"
    await scene.github.delete_branch(scene.repository, "bot/ten", scene.ada)
    assert (above.base, above.issue.state) == ("main", "open")


async def test_on_a_branch_that_is_deleted_unmerged_it_is_closed(scene, stacked):
    below, above = stacked
    await scene.github.delete_branch(scene.repository, "bot/ten", scene.ada)
    assert [below.issue.state, above.issue.state] == ["closed", "closed"]
    assert above.base == "bot/ten"
