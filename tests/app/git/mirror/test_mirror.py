"""The mirror: fetched, mended, written by one at a time, and pushed with a lease."""

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agents.errors import Moved, RunError, TransientError
from app.git.errors import GitFailed
from app.git.locks import file_lock
from app.git.mirror.mirror import Mirror
from app.git.mirror.push import describe_refusal


def git(folder, *args, stdin=b""):
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b", *args],
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()


def grow(estate, name="new.txt", branch="main"):
    """Add a commit to the upstream repository, through somebody's clone."""
    clone = estate.place / "somebody"
    git(clone, "checkout", "-q", "-B", branch)
    (clone / name).write_text(name)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", name)
    git(clone, "push", "-q", "-f", str(estate.upstream), branch)
    return git(clone, "rev-parse", "HEAD")


def upstream_branch(estate, branch):
    return git(estate.upstream, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")


# --- fetch ----------------------------------------------------------------------------------------


async def test_fetch_brings_branches_and_forgets_deleted_ones(estate):
    commit = grow(estate, branch="topic")
    await estate.mirror.fetch(estate.url, None)
    assert await estate.mirror.head_of("topic") == commit
    assert await estate.mirror.head_of("main") == estate.base
    git(estate.upstream, "branch", "-D", "topic")
    await estate.mirror.fetch(estate.url, None)
    with pytest.raises(RunError, match="`topic` does not exist"):
        await estate.mirror.head_of("topic")


async def test_prune_leaves_hidden_refs_alone(estate):
    await estate.mirror.keep("refs/fettle/runs/r1/base", estate.base)
    await estate.mirror.fetch(estate.url, None)
    assert await estate.mirror.resolve("refs/fettle/runs/r1/base") == estate.base
    await estate.mirror.forget("refs/fettle/runs/r1")
    assert await estate.mirror.resolve("refs/fettle/runs/r1/base") is None
    await estate.mirror.forget("refs/fettle/runs/r1")


async def test_the_mirror_has_no_remote_no_hooks_and_is_closed_to_others(estate):
    config = (estate.mirror.gitdir / "config").read_text()
    assert "remote" not in config
    assert not (estate.mirror.gitdir / "hooks").exists()
    assert stat.S_IMODE(estate.mirror.gitdir.stat().st_mode) == 0o750
    if os.geteuid() == 0:
        assert estate.mirror.gitdir.stat().st_gid == estate.sandbox.owner[1]


@pytest.mark.parametrize("harm", ["objects gone", "object cut off", "head gone", "config broken"])
async def test_a_broken_mirror_is_made_anew(estate, harm):
    gitdir = estate.mirror.gitdir
    if harm == "objects gone":
        shutil.rmtree(gitdir / "objects")
    elif harm == "object cut off":
        for pack in (gitdir / "objects").rglob("*"):
            if pack.is_file():
                pack.chmod(0o600)
                os.truncate(pack, 10)
    elif harm == "head gone":
        (gitdir / "HEAD").unlink()
    else:
        (gitdir / "config").write_text("[core\n")
    commit = grow(estate)
    await estate.mirror.fetch(estate.url, None)
    assert await estate.mirror.head_of("main") == commit
    assert await estate.mirror.show(commit, "new.txt") == b"new.txt"


async def test_a_missing_repository_leaves_a_sound_mirror_alone(estate):
    with pytest.raises(RunError):
        await estate.mirror.fetch(f"file://{estate.place}/nowhere.git", None)
    assert await estate.mirror.head_of("main") == estate.base


async def test_malformed_trees_are_not_taken_in(estate):
    blob = git(estate.upstream, "rev-parse", "HEAD:README.md")
    raw = b"100644 .git\0" + bytes.fromhex(blob)
    literally = ("hash-object", "-t", "tree", "-w", "--literally", "--stdin")
    tree = git(estate.upstream, *literally, stdin=raw)
    commit = git(estate.upstream, "commit-tree", "-m", "bad", tree)
    git(estate.upstream, "update-ref", "refs/heads/bad", commit)
    with pytest.raises(GitFailed, match=r"hasDotgit|contains '\.git'"):
        await estate.mirror.fetch(estate.url, None)
    assert await estate.mirror.head_of("main") == estate.base


async def test_many_packs_are_put_together(estate, monkeypatch):
    monkeypatch.setattr("app.git.mirror.mirror._PACKS", 2)
    for number in range(3):
        grow(estate, f"{number}.txt")
        await estate.mirror.fetch(estate.url, None)
    assert len(list((estate.mirror.objects / "pack").glob("*.pack"))) <= 1
    assert await estate.mirror.show(await estate.mirror.head_of("main"), "2.txt") == b"2.txt"


# --- reading --------------------------------------------------------------------------------------


async def test_reading(estate):
    commit = grow(estate)
    await estate.mirror.fetch(estate.url, None)
    mirror, base = estate.mirror, estate.base
    assert await mirror.show(base, "src/a.py") == b"A = 1\n"
    for path in ("nosuch", "src", "../x", "", "src/a.py/x", "a\nb"):
        assert await mirror.show(base, path) is None
    assert await mirror.list_changed_paths(base, commit) == ["new.txt"]
    assert "+new.txt" in await mirror.diff(base, commit)
    assert await mirror.paths(base) == [".gitignore", "README.md", "src/a.py", "src/b.py"]
    assert await mirror.log(base, commit) == [(commit, "new.txt")]
    assert await mirror.log(base, base) == []
    assert await mirror.holds(base)
    assert not await mirror.holds("1" * 40)


@pytest.mark.parametrize("name", ["--output=/tmp/x", "HEAD", "main", "a..b", "refs/heads/../x", ""])
async def test_names_that_are_no_ids_are_refused(estate, name):
    with pytest.raises(RunError):
        await estate.mirror.diff(name, estate.base)
    with pytest.raises(RunError):
        await estate.mirror.show(name, "README.md")


@pytest.mark.parametrize(
    "branch", ["--upload-pack=x", "a..b", "a b", "x^{/y}", "a:b", "", "x.lock"]
)
async def test_odd_branches_are_refused(estate, branch):
    with pytest.raises(RunError):
        await estate.mirror.head_of(branch)


async def test_a_bomb_is_found_before_checkout(estate):
    blob = git(estate.upstream, "rev-parse", "HEAD:README.md")
    entry = f"100644 blob {blob}"
    for level in range(10):
        lines = "".join(f"{entry}\tf{level}{number}\n" for number in range(10))
        tree = git(estate.upstream, "mktree", stdin=lines.encode())
        entry = f"040000 tree {tree}"
    commit = git(estate.upstream, "commit-tree", "-m", "bomb", tree)
    git(estate.upstream, "update-ref", "refs/heads/bomb", commit)
    await estate.mirror.fetch(estate.url, None)
    with pytest.raises(RunError, match="too many files"):
        await estate.open(base=commit)


# --- push -----------------------------------------------------------------------------------------


async def test_push_puts_one_branch_there_and_may_be_repeated(estate):
    commit = grow(estate, branch="elsewhere")
    await estate.mirror.fetch(estate.url, None)
    await estate.mirror.push(estate.url, None, commit, "bot/r1", None)
    assert upstream_branch(estate, "bot/r1") == commit
    await estate.mirror.push(estate.url, None, commit, "bot/r1", None)
    await estate.mirror.push(estate.url, None, commit, "bot/r1", estate.base)
    assert upstream_branch(estate, "main") == estate.base


async def test_push_moves_its_branch_when_nobody_else_did(estate):
    commit = grow(estate, branch="elsewhere")
    await estate.mirror.fetch(estate.url, None)
    await estate.mirror.push(estate.url, None, estate.base, "bot/r1", None)
    await estate.mirror.push(estate.url, None, commit, "bot/r1", estate.base)
    assert upstream_branch(estate, "bot/r1") == commit


async def test_push_leaves_the_work_of_others_alone(estate):
    theirs = grow(estate, branch="bot/r1")
    with pytest.raises(RunError, match="somebody else changed it"):
        await estate.mirror.push(estate.url, None, estate.base, "bot/r1", None)
    with pytest.raises(RunError, match="somebody else changed it"):
        await estate.mirror.push(estate.url, None, estate.base, "bot/r1", "1" * 40)
    assert upstream_branch(estate, "bot/r1") == theirs


async def test_a_deleted_branch_is_not_brought_back(estate):
    with pytest.raises(RunError, match="somebody else changed it"):
        await estate.mirror.push(estate.url, None, estate.base, "bot/r1", "1" * 40)
    assert upstream_branch(estate, "bot/r1") == ""


async def test_a_branch_that_moved_and_is_back_is_left_alone(estate, monkeypatch):
    """Git itself has refused, whatever is there when somebody looks why."""
    theirs = grow(estate, branch="bot/r1")
    with pytest.raises(Moved, match=f"is at {theirs[:12]}, not at no commit: somebody else"):
        await estate.mirror.push(estate.url, None, estate.base, "bot/r1", None)

    async def look_too_late(*_):
        return None

    monkeypatch.setattr("app.git.mirror.push.remote_id", look_too_late)
    with pytest.raises(Moved, match="is at another commit, not at no commit"):
        await estate.mirror.push(estate.url, None, estate.base, "bot/r1", None)
    assert upstream_branch(estate, "bot/r1") == theirs


@pytest.mark.parametrize(
    "branch",
    [
        "main",
        "refs/heads/main",
        "bot/",
        "bot/../main",
        "bot/a b",
        "bot/x:refs/heads/main",
        "bot/--force",
        "bot/a..b",
        "bot/a.lock",
        "bot/$(id)",
        "bot/a@{1}",
        "bot//a",
        "bot/a/",
    ],
)
async def test_only_its_own_branches_are_pushed(estate, branch):
    with pytest.raises(RunError, match="Nothing was pushed"):
        await estate.mirror.push(estate.url, None, estate.base, branch, None)


async def test_a_refusing_hook_of_the_server_is_told(estate):
    hook = estate.upstream / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        "#!/bin/sh\necho refusing to allow an App without workflows permission\nexit 1\n"
    )
    hook.chmod(0o755)
    with pytest.raises(RunError, match="may not change workflows"):
        await estate.mirror.push(estate.url, None, estate.base, "bot/r1", None)


# --- one writer at a time -------------------------------------------------------------------------


async def test_many_writers_in_turn(estate):
    mirrors = [Mirror(estate.mirror.gitdir, allow_files=True) for _ in range(4)]
    work = [mirror.fetch(estate.url, None) for mirror in mirrors]
    work += [m.keep(f"refs/fettle/runs/r{at}/base", estate.base) for at, m in enumerate(mirrors)]
    await asyncio.gather(*work)
    for at in range(4):
        assert await estate.mirror.resolve(f"refs/fettle/runs/r{at}/base") == estate.base


async def test_another_process_waits_and_a_dead_one_leaves_no_lock(place):
    path = place / "m.lock"
    program = (
        "import asyncio,sys,time\nfrom pathlib import Path\nfrom app.git.locks import file_lock\n"
    )
    program += "async def main():\n    async with file_lock(Path(sys.argv[1])):\n"
    program += "        print('held', flush=True); time.sleep(60)\nasyncio.run(main())\n"
    holder = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        str(path),
        cwd=Path(__file__).parents[4],
        stdout=asyncio.subprocess.PIPE,
    )
    assert await holder.stdout.readline() == b"held\n"
    with pytest.raises(TransientError, match="stayed locked"):
        async with file_lock(path, timeout=0.05):
            pass
    holder.kill()
    await holder.communicate()
    async with file_lock(path, timeout=5):
        pass


LOCKS = ("packed-refs.lock", "shallow.lock", "config.lock", "refs/fettle/runs/r/base.lock")


def leave_locks(mirror):
    for name in LOCKS:
        lock = mirror.gitdir / name
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()


async def use(mirror, estate):
    await mirror.keep("refs/fettle/runs/r/base", estate.base)
    await mirror.fetch(estate.url, None)
    await mirror.forget("refs/fettle/runs/r")


async def test_locks_of_a_git_that_died_with_its_server_go(estate):
    leave_locks(estate.mirror)
    await use(Mirror(estate.mirror.gitdir, allow_files=True), estate)


async def test_locks_of_a_git_that_died_with_another_worker_go(estate):
    await use(estate.mirror, estate)
    leave_locks(estate.mirror)
    estate.mirror.gitdir.with_name(f"{estate.mirror.gitdir.name}.lock").write_bytes(b"1")
    await use(estate.mirror, estate)


async def test_locks_of_a_git_that_was_stopped_go(estate):
    async def be_stopped():
        async with estate.mirror.lock():
            leave_locks(estate.mirror)
            raise RunError("took too long")

    with pytest.raises(RunError):
        await be_stopped()
    await use(estate.mirror, estate)


async def test_a_git_that_outlives_its_server_keeps_the_next_one_out(estate):
    gitdir = estate.mirror.gitdir
    program = """
import asyncio, sys
from pathlib import Path
from app.git.mirror.mirror import Mirror

async def main():
    mirror = Mirror(Path(sys.argv[1]))
    async with mirror.lock():
        writing = mirror.git.local("hash-object", "-w", "--stdin", stdin=int(sys.argv[2]))
        task = asyncio.create_task(writing)
        await asyncio.sleep(0)
        print("writing", flush=True)
        await task

asyncio.run(main())
"""
    words, hold = os.pipe()
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, str(gitdir), str(words)),
        cwd=Path(__file__).parents[4],
        pass_fds=(words,),
        stdout=asyncio.subprocess.PIPE,
    )
    os.close(words)
    assert await server.stdout.readline() == b"writing\n"
    server.kill()
    await server.wait()
    (gitdir / "packed-refs.lock").touch()  # as if git were at it
    path = gitdir.with_name(f"{gitdir.name}.lock")
    with pytest.raises(TransientError, match="stayed locked"):
        async with file_lock(path, timeout=0.2):
            pass
    os.close(hold)  # git reads the end of its input and ends
    async with file_lock(path, timeout=10) as held:
        assert held.abandoned


RULESET = """remote: error: GH013: Repository rule violations found for refs/heads/bot/issue-1.
remote: Review all repository rules at http://github.com/o/r/rules?ref=refs%2Fheads%2Fbot
remote:
remote: - Cannot create ref due to creations being restricted.
To https://github.com/o/r.git
!\tabc:refs/heads/bot/issue-1\t[remote rejected] (push declined due to rule violations)"""
SIGNED = RULESET.replace(
    "Cannot create ref due to creations being restricted", "Commits must have verified signatures"
)
PROTECTED = """remote: error: GH006: Protected branch update failed for refs/heads/bot/issue-1.
remote: error: - Required status check "build" is expected.
!\tabc:refs/heads/bot/issue-1\t[remote rejected] (protected branch hook declined)"""
WORKFLOW = """!\tabc:refs/heads/bot/issue-1\t[remote rejected] (refusing to allow a GitHub App \
to create or update workflow `.github/workflows/x.yml` without `workflows` permission)"""


@pytest.mark.parametrize(
    ("said", "who", "rule", "remedy"),
    [
        (RULESET, "a ruleset refused it", "Cannot create ref due to", "under Rules, Rulesets"),
        (SIGNED, "signed commits only", "verified signatures", "Require signed commits"),
        (PROTECTED, "branch protection refused it", '"build" is expected', "under Branches"),
        (WORKFLOW, "may not change workflows", "", "permission to write workflows"),
        ("fatal: something new at /srv/mirrors/9.git", "it was refused", "", "did not say"),
    ],
    ids=["ruleset", "signatures", "branch protection", "workflows", "anything else"],
)
def test_a_refused_push_names_the_rule_and_the_remedy(said, who, rule, remedy):
    text = describe_refusal("bot/issue-1", said)
    assert text.startswith("GitHub did not take the branch `bot/issue-1`: ")
    for part in (who, rule, remedy):
        assert part in text
    assert "remote:" not in text
    assert "/srv" not in text


@pytest.mark.parametrize(
    ("branch", "excepted"),
    [("bot/issue-1", "the branches `bot/**`"), ("feature", "the branch `feature`")],
)
def test_the_exception_that_helps_is_one_for_the_branch_that_was_refused(branch, excepted):
    assert f"Let {excepted} be an exception" in describe_refusal(branch, RULESET)
