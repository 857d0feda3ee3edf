"""Git over HTTP, driven by the git program: tokens, branch rules, leases, lost answers."""

import asyncio
import base64
import json
import os
from dataclasses import dataclass

import pytest
from aiohttp import web

from app.simulator.github.gitdir import GitDir


@dataclass
class Ran:
    code: int
    out: str
    err: str


class CleanGit:
    """A git of its own, knowing nothing of this machine's settings."""

    def __init__(self, folder, token):
        self.folder = folder
        basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        self.settings = ["-c", f"http.extraHeader=Authorization: Basic {basic}"] if token else []

    async def __call__(self, *args):
        env = {
            "PATH": os.defpath,
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": "mender[bot]",
            "GIT_AUTHOR_EMAIL": "m@example.com",
            "GIT_COMMITTER_NAME": "mender[bot]",
            "GIT_COMMITTER_EMAIL": "m@example.com",
        }
        process = await asyncio.create_subprocess_exec(
            "git", *self.settings, *args, cwd=self.folder, env=env, stdout=-1, stderr=-1
        )
        out, err = await process.communicate()
        return Ran(process.returncode, out.decode(), err.decode())


@pytest.fixture
async def git_of(scene, tmp_path):
    """Clone with full rights, then go on with a git that holds another token."""
    work = tmp_path / "work"
    await CleanGit(tmp_path, scene.token())("clone", "-q", url(scene), str(work))
    (work / "main.py").write_text("print('hello')\n" * 3)
    plain = CleanGit(work, None)
    await plain("add", ".")
    await plain("commit", "-qm", "Step 1/1: say hello")

    def git_of(*, path=None, **permissions):
        return CleanGit(path or work, scene.token(**permissions))

    return git_of


def url(scene, name="forge/anvil"):
    return f"{scene.github.url}/{name}.git"


async def test_a_push_moves_the_branch_and_its_pull_request(scene, git_of):
    git = git_of(contents="write", pull_requests="write")
    pushed = await git("push", url(scene), "HEAD:refs/heads/bot/issue-1")
    assert pushed.code == 0, pushed.err
    wanted = {"title": "Mend", "head": "bot/issue-1", "base": "main"}
    number = (await scene.call()("POST", f"{scene.base}/pulls", wanted)).json["number"]
    (git.folder / "more.py").write_text("1\n")
    await git("add", ".")
    await git("commit", "-qm", "More")
    assert (await git("push", url(scene), "HEAD:refs/heads/bot/issue-1")).code == 0
    head = (await git("rev-parse", "HEAD")).out.strip()
    pull = (await scene.call()("GET", f"{scene.base}/pulls/{number}")).json
    assert (pull["head"]["sha"], pull["commits"]) == (head, 2)
    kept = await GitDir(scene.repository.gitdir).refs("refs/pull/")
    assert kept == {f"refs/pull/{number}/head": head}
    assert (await git("push", url(scene), ":refs/heads/bot/issue-1")).code == 0
    assert (await scene.call()("GET", f"{scene.base}/pulls/{number}")).json["state"] == "closed"


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("refs/heads/main", "protected branch hook declined"),
        ("refs/heads/feature", "repository rule violations"),
        ("refs/tags/v1", "repository rule violations"),
        ("refs/pull/1/head", "repository rule violations"),
    ],
)
async def test_apps_push_their_own_branches_only(scene, git_of, ref, reason):
    before = await GitDir(scene.repository.gitdir).refs("refs/")
    pushed = await git_of()("push", "--force", url(scene), f"HEAD:{ref}")
    assert pushed.code != 0
    assert reason in pushed.err
    assert await GitDir(scene.repository.gitdir).refs("refs/") == before


async def test_workflow_files_need_their_own_permission(scene, git_of):
    git = git_of()
    flow = git.folder / ".github" / "workflows" / "ci.yml"
    flow.parent.mkdir(parents=True)
    flow.write_text("on: push\n")
    await git("add", ".")
    await git("commit", "-qm", "CI")
    refused = await git("push", url(scene), "HEAD:refs/heads/bot/ci")
    assert refused.code != 0
    assert "`.github/workflows/ci.yml` without `workflows` permission" in refused.err
    assert "refs/heads/bot/ci" not in await GitDir(scene.repository.gitdir).refs()
    scene.installation.permissions["workflows"] = "write"
    assert (await git_of()("push", url(scene), "HEAD:refs/heads/bot/ci")).code == 0


async def test_tokens_and_permissions_hold_for_git(scene, git_of, tmp_path):
    reader = git_of(contents="read")
    assert (await reader("fetch", url(scene), "main")).code == 0
    denied = await reader("push", url(scene), "HEAD:refs/heads/bot/x")
    assert "403" in denied.err
    blind = git_of(issues="write")
    assert "403" in (await blind("fetch", url(scene), "main")).err
    for token in (None, "ghs_nonsense"):
        stranger = CleanGit(tmp_path, token)
        assert (await stranger("ls-remote", url(scene))).code != 0
    await scene.github.create_repository(scene.owner, "secret")
    hidden = await reader("ls-remote", url(scene, "forge/secret"))
    assert "not found" in hidden.err


async def test_public_repositories_can_be_read_by_all_and_written_by_none(scene, tmp_path):
    await scene.github.create_repository(scene.owner, "open", private=False)
    nobody = CleanGit(tmp_path, None)
    assert "refs/heads/main" in (await nobody("ls-remote", url(scene, "forge/open"))).out
    cloned = await nobody("clone", "-q", url(scene, "forge/open"), "copy")
    assert cloned.code == 0
    refused = await CleanGit(tmp_path / "copy", None)("push", url(scene, "forge/open"), "main:x")
    assert refused.code != 0


async def test_a_lease_is_kept_when_somebody_else_pushed(scene, git_of):
    git = git_of()
    await git("push", url(scene), "HEAD:refs/heads/bot/x")
    ours = (await git("rev-parse", "HEAD")).out.strip()
    files = {"other.py": "1\n"}
    await scene.github.commit(
        scene.repository, files, author=scene.ada, message="m", branch="bot/x"
    )
    await git("commit", "-q", "--amend", "-m", "Again")
    lease = f"--force-with-lease=refs/heads/bot/x:{ours}"
    stale = await git("push", lease, url(scene), "HEAD:refs/heads/bot/x")
    assert stale.code != 0
    assert "stale info" in stale.err


async def test_large_pushes_and_shallow_and_partial_clones(scene, git_of, tmp_path):
    git = git_of()
    (git.folder / "large.bin").write_bytes(os.urandom(3_000_000))
    await git("add", ".")
    await git("commit", "-qm", "Large")
    pushed = await git("push", url(scene), "HEAD:refs/heads/bot/large")
    assert pushed.code == 0, pushed.err
    for number, flag in enumerate(("--depth=1", "--filter=blob:none", "--bare")):
        clone = ("clone", "-q", flag, "--branch=bot/large", url(scene), f"copy{number}")
        cloned = await git_of(path=tmp_path, contents="read")(*clone)
        assert cloned.code == 0, cloned.err


async def test_a_push_can_lose_its_answer_and_hooks_see_it(scene, git_of):
    seen = []

    async def look(_request):
        seen.append("refs/heads/bot/x" in await GitDir(scene.repository.gitdir).refs())

    faults = scene.github.faults
    faults.call_before("POST", "/git-receive-pack$", look)
    await git_of()("push", url(scene), "HEAD:refs/heads/bot/x")
    faults.call_after("POST", "/git-receive-pack$", look)
    await git_of()("push", "--force", url(scene), "HEAD~:refs/heads/bot/x")
    faults.lose_answer("POST", "/git-receive-pack$")
    lost = await git_of()("push", url(scene), "HEAD:refs/heads/bot/y")
    assert lost.code != 0
    assert "refs/heads/bot/y" in await GitDir(scene.repository.gitdir).refs()
    assert seen == [False, True]


async def test_a_renamed_repository_redirects_git(scene, git_of):
    await scene.github.rename_repository(scene.repository, "hammer")
    git = git_of()
    assert (await git("ls-remote", url(scene, "forge/hammer"))).code == 0
    assert (await git("ls-remote", url(scene, "forge/anvil"))).code == 0
    strict = await git("-c", "http.followRedirects=false", "ls-remote", url(scene, "forge/anvil"))
    assert strict.code != 0


async def test_pushes_are_announced(scene, git_of, aiohttp_server):
    taken = []

    async def take(request):
        taken.append((request.headers["X-GitHub-Event"], json.loads(await request.read())))
        return web.Response()

    app = web.Application()
    app.router.add_post("/", take)
    server = await aiohttp_server(app)
    await scene.github.set_webhook(scene.credentials.app_id, str(server.make_url("/")))
    await git_of()("push", url(scene), "HEAD:refs/heads/bot/x")
    await scene.github.webhooks.wait_until_settled()
    event, payload = taken[-1]
    assert event == "push"
    assert (payload["ref"], payload["created"]) == ("refs/heads/bot/x", True)
    assert [each["message"] for each in payload["commits"]] == ["Step 1/1: say hello"]
    assert payload["head_commit"]["added"] == ["main.py"]
    assert payload["sender"]["login"] == "mender[bot]"
