"""A run's result gets out once: the branch, its pull request, an answer."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from agents.errors import RunError, TransientError
from app.github.pulls.publisher import GitHubPublisher
from app.github.transport.idempotent_comments import make_marker
from app.simulator.github.gitdir import GitDir
from tests.app.github.pulls.conftest import make_commit

BRANCH = "bot/1-accept-nine-digits-abc123"
PULLS = "/repos/ada/parse/pulls"
MARK = make_marker("run-1", "pull-request")
BODY = "### Why\n\nBecause."


def commit_protected(gitdir, parent, path, text):
    """Commit a file that policies protect: people permitted that before the commit was made."""

    def git(*args, said=""):
        command = ["git", "-C", gitdir, "-c", "user.name=x", "-c", "user.email=x@x", *args]
        done = subprocess.run(command, input=said.encode(), capture_output=True, check=True)
        return done.stdout.decode().strip()

    blob = git("hash-object", "-w", "--stdin", said=text)
    folder, _, name = path.rpartition("/")
    below = git("mktree", said=f"100644 blob {blob}\t{name}\n")
    tree = git("mktree", said=f"040000 tree {below}\t{folder}\n")
    return git("commit-tree", tree, "-p", parent, "-m", "Attributes")


async def head(scene):
    return (await GitDir(scene.repository.gitdir).refs()).get(f"refs/heads/{BRANCH}")


async def open_pull(publisher, commits, *, title="Accept nine digits", body=BODY, **more):
    await publisher.push(BRANCH, commits[-1])
    wanted = {"draft": False, "closes": (1,), **more}
    return await publisher.open_pull_request(
        branch=BRANCH, commit=commits[-1], title=title, body=body, **wanted
    )


def live_closings(text):
    """Return which issues GitHub would close for this text: its own list of keywords."""
    words = [f"{stem}{end}" for stem in ("close", "resolve") for end in ("", "s", "d")]
    words += ["fix", "fixes", "fixed"]
    found = re.findall(rf"\b(?:{'|'.join(words)}):? +(\S*#\d+|https?://\S+)", text, re.IGNORECASE)
    return [target.rstrip("`.,") for target in found]


# --- the branch -------------------------------------------------------------------------------


async def test_the_branch_is_pushed_and_its_token_ended(scene, publisher, commits):
    page = await publisher.push(BRANCH, commits[-1])

    assert page == f"{scene.server.url}/ada/parse/tree/{BRANCH}"
    assert await head(scene) == commits[-1]
    live = [dict(token.permissions) for token in scene.server.tokens._live.values()]
    assert not any(permissions.get("contents") == "write" for permissions in live)
    asked = [json.loads(each.body)["permissions"] for each in scene.calls("POST", "access_tokens")]
    assert asked[-1] == {"contents": "write"}, "git can do nothing else with it"


async def test_a_worker_whose_runs_another_has_neither_pushes_nor_writes(scene, publisher, commits):
    async def refuse():
        raise TransientError("another one has its runs")

    scene.github.guard_writes(refuse)
    for write in (
        publisher.push(BRANCH, commits[1]),
        publisher.comment("done", "Done."),
        publisher.open_pull_request(
            branch="main", commit=commits[0], title="T", body=BODY, draft=False
        ),
    ):
        with pytest.raises(TransientError, match="another one has its runs"):
            await write

    assert await head(scene) is None
    assert scene.issue.comments == []
    asked = [each.path for each in scene.server.requests if each.method in ("POST", "PATCH")]
    assert not [path for path in asked if path.endswith(("/pulls", "/comments"))]


async def test_pushing_again_changes_nothing(scene, publisher, commits):
    await publisher.push(BRANCH, commits[-1])
    await publisher.push(BRANCH, commits[-1])

    assert await head(scene) == commits[-1]


async def test_the_branch_goes_on_from_what_an_earlier_process_pushed(
    scene, publisher, mirror, commits
):
    await publisher.push(BRANCH, commits[1])
    later = GitHubPublisher(scene.github, mirror, scene.request, "run-1", scene.redactor)
    await later.push(BRANCH, commits[2])

    assert await head(scene) == commits[2]


async def test_somebody_elses_commit_is_left_alone(scene, publisher, commits):
    await publisher.push(BRANCH, commits[1])
    theirs = await scene.server.commit(
        scene.repository, {"a": "b"}, author=scene.people["bob"], message="Mine", branch=BRANCH
    )
    with pytest.raises(RunError, match=r"somebody else.*Nothing was overwritten"):
        await publisher.push(BRANCH, commits[2])

    assert await head(scene) == theirs


async def test_unfinished_work_is_kept_however_often_and_on_whatever_was_kept(
    scene, publisher, mirror, commits
):
    """As a run's last stage does it: again after a crash, and again when it went on meanwhile."""
    branch = "bot/1-unfinished-abc123"
    workflow = commit_protected(mirror.gitdir, commits[1], "src/.gitattributes", "* filter=x\n")
    for commit in (commits[1], commits[1], workflow, workflow):
        page = await publisher.push(branch, commit)

    assert page == f"{scene.server.url}/ada/parse/tree/{branch}"
    refs = await GitDir(scene.repository.gitdir).refs()
    assert refs[f"refs/heads/{branch}"] == workflow


async def test_a_branch_of_that_name_with_another_history_is_left_alone(
    scene, publisher, mirror, commits
):
    """Its commit is known to the mirror, and nobody has looked at the branch before."""
    other = make_commit(mirror.gitdir, commits[0], "Somebody's")
    await publisher.push(BRANCH, other)
    with pytest.raises(RunError, match="Nothing was overwritten"):
        await publisher.push(BRANCH, commits[2])

    assert await head(scene) == other


async def test_a_push_that_github_declines_tells_its_reason_and_ends_its_token(
    scene, publisher, commits
):
    scene.repository.app_branches = "refs/heads/elsewhere/"
    with pytest.raises(RunError, match="a ruleset refused it"):
        await publisher.push(BRANCH, commits[-1])

    live = scene.server.tokens._live.values()
    assert not any(token.permissions.get("contents") == "write" for token in live)


# --- the pull request -------------------------------------------------------------------------


async def test_the_pull_request(scene, publisher, commits):
    pull = await open_pull(publisher, commits)

    assert (pull.number, pull.base, pull.head, pull.draft) == (2, "main", commits[-1], False)
    assert pull.url == f"{scene.server.url}/ada/parse/pull/2"
    issue = scene.repository.issues[2]
    assert issue.title == "Accept nine digits"
    assert issue.body.startswith("### Why\n\nBecause.")
    assert issue.body.endswith(f"\n\n{MARK}")
    assert live_closings(issue.body) == ["#1"]
    assert issue.author.account.login == "fettle[bot]"


async def test_a_merge_closes_what_the_code_says_and_nothing_else(scene, publisher, commits):
    body = (
        "Fixes #7. Closes: #1\n\nresolves ada/parse#41, fixed https://github.com/a/b/issues/3\n\n"
        "- Close #8\n- fix other/lib#9\n\n| closes | #2 |\n| --- | --- |\n| Resolved #5 | x |"
    )
    await open_pull(publisher, commits, body=body, closes=[1, 41, 42, 41])

    shown = scene.repository.issues[2].body
    assert live_closings(shown) == ["#1", "#41", "#42"]
    assert "\n\nResolves #1\nResolves #41\nResolves #42\n\n" in shown


@pytest.mark.parametrize("length", [3_080, 5_000], ids=["just fits alone", "never fits"])
async def test_a_body_of_any_length_still_closes_and_is_found_again(
    scene, publisher, commits, length
):
    body = "Because of a b c d.\n\n" * length
    await open_pull(publisher, commits, body=body, closes=range(1, 101))

    shown = scene.repository.issues[2].body
    assert len(shown) <= 65_536
    assert len(live_closings(shown)) == 100
    assert shown.endswith(MARK)


async def test_what_closes_nothing_says_so_by_silence(scene, publisher, commits):
    await open_pull(publisher, commits, body="Resolves #1", closes=())

    assert live_closings(scene.repository.issues[2].body) == []


async def test_a_default_branch_that_was_renamed_meanwhile(scene, publisher, commits):
    git = GitDir(scene.repository.gitdir)
    await git.run("update-ref", "refs/heads/trunk", "refs/heads/main")
    await git.run("symbolic-ref", "HEAD", "refs/heads/trunk")
    await git.run("update-ref", "-d", "refs/heads/main")
    scene.repository.default_branch = "trunk"
    assert (await open_pull(publisher, commits)).base == "trunk"


@pytest.mark.parametrize(
    "refused",
    [
        ("POST", "/pulls$", 403),
        ("POST", "/pulls$", 404),
        ("POST", "/access_tokens$", 404),
        ("GET", "/git/ref/heads/", 403),
        ("GET", "info/refs$", 403),
    ],
)
async def test_a_refusal_that_passes_is_not_the_end(scene, publisher, commits, refused):
    """A minute of them would lose a change that is paid for, verified and ready."""
    scene.server.faults.status(*refused, times=5)
    assert not (await open_pull(publisher, commits)).draft


async def test_a_refusal_that_stays_is_told(scene, publisher, commits):
    scene.server.faults.status("POST", r"/pulls$", 403, times=99)
    with pytest.raises(RunError):
        await open_pull(publisher, commits)


async def test_a_draft(scene, publisher, commits):
    assert (await open_pull(publisher, commits, draft=True)).draft


async def test_opening_it_twice_opens_one_and_changes_nothing(scene, publisher, commits):
    first = await open_pull(publisher, commits)
    second = await open_pull(publisher, commits)

    assert first == second
    assert len(scene.calls("POST", PULLS)) == 1
    assert not scene.calls("PATCH", "/2")


async def test_the_open_one_is_brought_up_to_date(scene, publisher, commits):
    await open_pull(publisher, commits)
    pull = await open_pull(publisher, commits, title="Accept one to nine digits")

    assert pull.number == 2
    assert scene.repository.issues[2].title == "Accept one to nine digits"


async def test_a_lost_answer_opens_no_second_one(scene, publisher, commits):
    scene.server.faults.lose_answer("POST", PULLS + "$")
    pull = await open_pull(publisher, commits)

    assert pull.number == 2
    assert len(scene.calls("POST", PULLS)) == 1


async def test_an_illness_of_github_is_waited_out_once(scene, publisher, commits):
    scene.server.faults.status("POST", PULLS + "$", 502)
    assert (await open_pull(publisher, commits)).number == 2

    scene.server.faults.status("POST", PULLS + "$", 502, times=2)
    scene.repository.issues[2].state = "closed"
    with pytest.raises(TransientError):
        await open_pull(publisher, commits)


async def test_what_a_person_opened_from_our_branch_stays_theirs(scene, publisher, commits):
    await open_pull(publisher, commits)
    issue = scene.repository.issues[2]
    issue.author = type(issue.author)(scene.people["bob"])
    issue.title = "Bob's title"

    assert (await open_pull(publisher, commits)).title == "Bob's title"


async def test_nothing_to_merge_is_told_in_githubs_words(scene, publisher, commits):
    with pytest.raises(RunError):
        await open_pull(publisher, commits[:1])


async def test_secrets_images_and_mentions_do_not_get_out(scene, publisher, commits):
    scene.redactor.add("tops3cret-value")
    body = f"{BODY}\n\ntops3cret-value @ada ![x](https://evil.test/a.png)"
    pull = await open_pull(
        publisher, commits, title="tops3cret-value for @ada\nand more", body=body
    )
    shown = pull.title + scene.repository.issues[2].body

    assert "tops3cret" not in shown
    assert "@ada" not in shown
    assert "](https://evil.test" not in shown
    assert "\n" not in pull.title


# --- answers ----------------------------------------------------------------------------------


async def test_an_answer_is_given_once(scene, publisher):
    url = await publisher.comment("answer", "### Some questions first\n\nWhich digits?")
    again = await publisher.comment("answer", "### Some questions first\n\nOther words?")

    [comment] = scene.issue.comments
    assert url == again == f"{scene.server.url}/ada/parse/issues/1#issuecomment-{comment.id}"
    assert "Which digits?" in comment.body
