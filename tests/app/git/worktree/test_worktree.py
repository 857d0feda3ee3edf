"""The files of one run: checked out, changed, kept, put back, committed; nothing else moves."""

import asyncio
import os
import shutil
import stat
import subprocess

import pytest

from agents.errors import BaitTaken, RunError, ToolError
from agents.policy import Policy
from app.git.worktree import worktree as worktree_module
from app.git.worktree.change_limits import ChangeLimits
from app.secrets.bait import BaitKeeper


def git(estate, *args):
    return subprocess.run(
        ["git", f"--git-dir={estate.mirror.gitdir}", *args],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


async def sh(tree, script, **options):
    return await tree.run(["bash", "-c", script], timeout=20, **options)


def hidden_refs(estate):
    return git(estate, "for-each-ref", "--format=%(refname)", "refs/fettle").split()


# --- checkout -------------------------------------------------------------------------------------


async def test_the_agent_sees_the_commit_and_a_git_that_works(estate):
    tree = await estate.open()
    result = await sh(tree, "git status --short; git log --format=%s; cat src/a.py; git diff HEAD")
    assert (result.exit_code, result.output) == (0, "first\nA = 1\n")
    changed = await sh(
        tree,
        "echo X >>src/a.py && git stash -q && git stash pop -q && git commit -qam mine; git log",
    )
    assert "mine" in changed.output
    assert await estate.mirror.head_of("main") == estate.base


async def test_files_belong_to_the_sandboxs_user_and_the_folder_to_us(estate):
    await estate.open("r")
    run = estate.place / "runs" / "r"
    owner = estate.sandbox.owner
    for name in ("ws/README.md", "ws/src", "q/index", "agent.git/HEAD"):
        status = (run / name).stat()
        assert (status.st_uid, status.st_gid) == owner
    assert run.stat().st_uid == os.geteuid()
    assert stat.S_IMODE(run.stat().st_mode) == 0o750


async def test_the_agent_cannot_harm_the_mirror_or_its_mount_points(estate):
    tree = await estate.open()
    result = await sh(
        tree,
        "rm -rf .git 2>/dev/null; mv .git x 2>/dev/null; touch /git/objects/x; "
        "ls -d .git /git/objects; ls /git",
    )
    assert "Read-only file system" in result.output
    assert result.output.split()[-3:] == [".git", "/git/objects", "objects"]
    await tree.write("src/a.py", b"A = 2\n")
    assert await tree.list_changed_paths(estate.base, await tree.snapshot()) == ["src/a.py"]


async def test_a_read_only_command_changes_nothing(estate):
    tree = await estate.open()
    before = await tree.snapshot()
    script = "echo x >new; echo y >>src/a.py; touch .git/x; git status --short"
    result = await sh(tree, script, writable=False)
    assert result.output.count("Read-only") == 1  # the git directory, to which no build writes
    assert result.output.endswith(" M src/a.py\n?? new\n")  # what it wrote was there for itself
    assert result.output.startswith("[This stage only reads: what the command wrote")
    assert await tree.snapshot() == before
    assert (await sh(tree, "git status --short", writable=False)).output == ""
    assert not list((tree.files.parent).glob("dropped-*"))


async def test_a_build_in_a_stage_that_only_reads_works_and_leaves_nothing(estate):
    tree = await estate.open()
    before = await tree.snapshot()
    build = (
        "mkdir -p target/debug && cp -r src target/debug/ && rm -rf src && mv target/debug/src ."
    )
    result = await sh(tree, f"{build} && cat src/a.py", writable=False)
    assert (result.exit_code, result.output.split("]\n")[1]) == (0, "A = 1\n")
    assert (await sh(tree, "ls", writable=False)).output == "README.md\nsrc\n"
    assert await tree.snapshot() == before


async def test_a_pipeline_hears_how_long_commands_took(estate):
    heard = []
    tree = await estate.open(on_command=heard.append)
    result = await sh(tree, "true")
    assert heard == [result.seconds]


# --- read and write -------------------------------------------------------------------------------


async def test_reading_and_writing_meet_the_sandbox_in_the_same_files(estate):
    tree = await estate.open()
    await sh(tree, "mkdir -p d && echo inside >d/f && chmod 755 d/f && ln -s /etc/passwd l")
    assert await tree.read("d/f") == b"inside\n"
    await tree.write("d/f", b"outside\n")
    await tree.write("e/g/new.txt", b"1")
    result = await sh(tree, "cat d/f; stat -c '%a %U' d/f e/g/new.txt; echo more >>e/g/new.txt")
    assert result.output == "outside\n755 agent\n644 agent\n"
    with pytest.raises(ToolError):
        await tree.read("l")
    with pytest.raises(ToolError):
        await tree.write("l", b"x")
    with pytest.raises(ToolError):
        await tree.write(".git/hooks/pre-commit", b"x")


# --- snapshot and restore -------------------------------------------------------------------------


async def test_snapshot_is_the_tree_of_the_files(estate):
    tree = await estate.open()
    assert await tree.snapshot() == git(estate, "rev-parse", f"{estate.base}^{{tree}}")
    await sh(tree, "echo new >new; rm src/b.py; chmod +x src/a.py; ln -s a.py src/link")
    first = await tree.snapshot()
    assert await tree.snapshot() == first
    assert await tree.list_changed_paths(estate.base, first) == [
        "new",
        "src/a.py",
        "src/b.py",
        "src/link",
    ]
    assert git(estate, "cat-file", "-p", f"{first}:new") == "new"
    assert git(estate, "ls-tree", first, "src/a.py").startswith("100755")
    assert f"refs/fettle/runs/run-1/trees/{first}" in hidden_refs(estate)


async def test_caches_and_build_output_are_left_out_even_without_gitignore(estate):
    tree = await estate.open()
    await sh(
        tree,
        "mkdir -p src/__pycache__ node_modules/x .venv/bin .pytest_cache build p.egg-info;"
        "for f in src/__pycache__/a.pyc node_modules/x/i.js .venv/bin/python .pytest_cache/x"
        " build/out p.egg-info/PKG a.pyc .coverage; do echo x >$f; done; echo real >real.py",
    )
    assert await tree.list_changed_paths(estate.base, await tree.snapshot()) == ["real.py"]


async def test_repositories_that_tests_leave_behind_are_left_out(estate):
    tree = await estate.open()
    await sh(
        tree,
        "git init -q 'empty one'; git init -q made; cd made; touch f; git add f;"
        "git -c user.name=a -c user.email=b commit -qm x; cd ..; mkdir -p 'odd[*]'; cd 'odd[*]';"
        "git init -q .; cd ..; echo real >real.py",
    )
    first = await tree.snapshot()
    assert await tree.list_changed_paths(estate.base, first) == ["real.py"]
    await sh(tree, "echo more >>made/f; echo more >>real.py")
    assert await tree.list_changed_paths(first, await tree.snapshot()) == ["real.py"]


async def test_restore_puts_back_and_keeps_what_is_ignored(estate):
    tree = await estate.open()
    await tree.write("src/a.py", b"A = 2\n")
    await tree.write("extra/kept.py", b"")
    checkpoint = await tree.snapshot()
    await sh(
        tree,
        "rm -rf src; echo junk >junk; mkdir -p build later/deep; echo out >build/out;"
        "touch later/deep/x; rm extra/kept.py; ln -s /etc extra/link;"
        "rm README.md; mkdir README.md",
    )
    await tree.snapshot()
    await tree.restore(checkpoint)
    result = await sh(
        tree, "find . -path ./.git -prune -o -type f -print | sort; git status --short"
    )
    assert result.output.split("\n") == [
        "./.gitignore",
        "./README.md",
        "./build/out",
        "./extra/kept.py",
        "./src/a.py",
        "./src/b.py",
        " M src/a.py",
        "?? extra/",
        "",
    ]
    assert await tree.snapshot() == checkpoint
    await tree.restore(estate.base)
    assert await tree.read("src/a.py") == b"A = 1\n"
    with pytest.raises(ToolError):
        await tree.read("extra/kept.py")


async def test_restore_to_the_tree_alone_takes_away_what_is_ignored(estate):
    tree = await estate.open()
    await sh(
        tree,
        "echo 'A = 9' >src/a.py; echo junk >junk; mkdir -p build/in node_modules src/__pycache__;"
        "echo x >build/in/f; echo x >node_modules/i.js; echo x >src/__pycache__/a.pyc;"
        "mkdir -p build/locked && touch build/locked/f && chmod 000 build/locked",
    )
    await tree.restore(estate.base, pristine=True)
    listed = await sh(tree, "find . -path ./.git -prune -o -type f -print | sort; git status -s")
    assert listed.output.split() == ["./.gitignore", "./README.md", "./src/a.py", "./src/b.py"]
    assert await tree.read("src/a.py") == b"A = 1\n"


async def test_restore_overcomes_lost_permissions_and_a_broken_index(estate):
    tree = await estate.open("r")
    await sh(
        tree, "mkdir -p locked/in && touch locked/in/f && chmod 000 locked/in && chmod 000 src"
    )
    (estate.place / "runs" / "r" / "q" / "index").write_bytes(b"broken")
    (estate.place / "runs" / "r" / "q" / "index.lock").write_bytes(b"")
    await tree.restore(estate.base)
    assert await tree.read("src/a.py") == b"A = 1\n"
    assert (await sh(tree, "ls")).output.split() == ["README.md", "src"]


async def test_the_tree_may_go_back_to_an_earlier_state(estate):
    tree = await estate.open()
    states = []
    for text in (b"1", b"2", b"1", b"2"):
        await tree.write("f", text)
        states.append(await tree.snapshot())
    assert states[0] == states[2]
    assert states[1] == states[3]


async def test_a_pack_that_is_too_large_is_refused(estate, monkeypatch):
    tree = await estate.open()
    monkeypatch.setattr(worktree_module, "PACK_LIMIT", 50_000)
    await sh(tree, "head -c 200000 /dev/urandom >big")
    with pytest.raises(RunError, match=r"Add what was generated to \.gitignore"):
        await tree.snapshot()


# --- commit ---------------------------------------------------------------------------------------


async def test_the_same_commit_however_often(estate):
    tree = await estate.open()
    await tree.write("src/a.py", b"A = 2\n")
    state = await tree.snapshot()
    commit = await tree.commit(state, estate.base, "Step 1/1: change\n\nFettle-Run: r\n")
    await asyncio.sleep(1.1)  # commits have seconds
    assert await tree.commit(state, estate.base, "Step 1/1: change\n\nFettle-Run: r\n") == commit
    again = await estate.open("run-1")
    assert await again.commit(state, estate.base, "Step 1/1: change\n\nFettle-Run: r\n") == commit
    assert await tree.commit(state, estate.base, "another message") != commit
    told = git(estate, "show", "-s", "--format=%an|%ae|%cn|%P|%T|%B", commit)
    assert told == (
        f"fettle[bot]|1+fettle[bot]@users.noreply.example|fettle[bot]|{estate.base}|{state}|"
        "Step 1/1: change\n\nFettle-Run: r"
    )


async def test_racing_commits_agree(estate):
    tree = await estate.open()
    await tree.write("f", b"1")
    state = await tree.snapshot()
    commits = await asyncio.gather(*(tree.commit(state, estate.base, "m") for _ in range(5)))
    assert len(set(commits)) == 1


async def test_the_agents_branch_follows_the_commits(estate):
    tree = await estate.open()
    await tree.write("f", b"1\n")
    commit = await tree.commit(await tree.snapshot(), estate.base, "Step 1/2: f")
    await tree.write("g", b"2\n")
    result = await sh(tree, "git log --format=%s; git status --short; git rev-parse HEAD")
    assert result.output == f"Step 1/2: f\nfirst\n?? g\n{commit}\n"


async def test_what_is_protected_is_not_committed(estate):
    tree = await estate.open()
    await tree.write("AGENTS.md", b"Be kind.\n")
    state = await tree.snapshot()
    with pytest.raises(RunError, match=r"protects.*protected_paths"):
        await tree.commit(state, estate.base, "m")
    free = await estate.open("run-2", policy=Policy(protected_paths=()))
    assert await free.commit(state, estate.base, "m")


async def test_limits_of_a_commit(estate):
    tree = await estate.open(limits=ChangeLimits(files=3, file_size=1000, total_size=1500))
    for name in "abcd":
        await tree.write(name, b"x")
    with pytest.raises(RunError, match="touches 4 files"):
        await tree.commit(await tree.snapshot(), estate.base, "m")
    await sh(tree, "rm b c d; head -c 1001 /dev/zero >a")
    with pytest.raises(RunError, match="`a` has"):
        await tree.commit(await tree.snapshot(), estate.base, "m")
    await sh(tree, "head -c 900 /dev/zero >a; head -c 900 /dev/urandom >b")
    with pytest.raises(RunError, match="together"):
        await tree.commit(await tree.snapshot(), estate.base, "m")


# --- an earlier process of the same run -----------------------------------------------------------


async def test_a_complete_folder_is_taken_as_it_is(estate):
    tree = await estate.open("r")
    await tree.write("src/a.py", b"A = 2\n")
    (estate.place / "runs" / "r" / "q" / "index.lock").write_bytes(b"")  # killed in mid-write
    again = await estate.open("r")
    assert await again.read("src/a.py") == b"A = 2\n"
    assert await again.list_changed_paths(estate.base, await again.snapshot()) == ["src/a.py"]


async def test_locks_of_a_git_that_was_killed_are_taken_away(estate):
    await estate.open("r")
    agent = estate.place / "runs" / "r" / "agent.git"
    for name in ("index.lock", "HEAD.lock", "config.lock", "refs/heads/work.lock"):
        (agent / name).touch()
    again = await estate.open("r")
    await again.restore(estate.base)
    assert (await sh(again, "echo 3 >src/a.py; git commit -qam mine")).exit_code == 0
    (agent / "index.lock").touch()  # by a command whose time was up
    commit = await again.commit(await again.snapshot(), estate.base, "m")
    assert (await sh(again, "git rev-parse HEAD; git status --short")).output == f"{commit}\n"


@pytest.mark.parametrize("harm", ["not ready", "other base", "index gone"])
async def test_an_incomplete_folder_is_built_anew(estate, harm):
    tree = await estate.open("r")
    await tree.write("junk", b"")
    checkpoint = await tree.snapshot()
    run = estate.place / "runs" / "r"
    if harm == "index gone":
        (run / "q" / "index").unlink()
        again = await estate.open("r")
        assert await again.snapshot() == checkpoint
        return
    if harm == "not ready":
        (run / "ready").unlink()
        shutil.rmtree(run / "q")
    else:
        (run / "ready").write_text("1" * 40)
    again = await estate.open("r")
    assert await again.list_changed_paths(estate.base, await again.snapshot()) == []
    await again.restore(checkpoint)
    assert await again.read("junk") == b""


async def test_checkpoints_outlive_the_files_until_they_are_forgotten(estate):
    tree = await estate.open("r")
    await tree.write("f", b"1")
    state = await tree.snapshot()
    await sh(tree, "mkdir -p x/y && touch x/y/z && chmod 000 x/y")
    await tree.close(forget=False)
    assert not (estate.place / "runs" / "r").exists()
    again = await estate.open("r")
    await again.restore(state)
    assert await again.read("f") == b"1"
    await again.close()
    assert hidden_refs(estate) == []


async def test_two_runs_know_nothing_of_each_other(estate):
    one, other = await asyncio.gather(estate.open("a"), estate.open("b"))
    await one.write("only-a", b"1")
    states = await asyncio.gather(one.snapshot(), other.snapshot())
    assert await other.list_changed_paths(estate.base, states[1]) == []
    result = await sh(other, "ls; ls / /tmp; cat /proc/mounts")
    assert "only-a" not in result.output
    assert str(estate.place) not in result.output


async def test_ten_at_once(estate):
    trees = await asyncio.gather(*(estate.open() for _ in range(10)))
    assert {await tree.snapshot() for tree in trees} == {
        git(estate, "rev-parse", f"{estate.base}^{{tree}}")
    }


async def test_an_id_that_could_leave_the_folder_is_refused(estate):
    with pytest.raises(RunError):
        await estate.open("../../escape")


# --- bait ----------------------------------------------------------------------------------------


async def test_a_command_that_reads_bait_ends_the_run(estate, tmp_path):
    bait = BaitKeeper(tmp_path).for_run("run-9")
    tree = await estate.open("run-9", bait=bait)
    listed = await tree.run(["bash", "-c", "ls -A ~; echo $HOME"], timeout=20)
    assert {".aws", ".env", ".ssh"} <= set(listed.output.split())
    for file in bait.files:
        with pytest.raises(BaitTaken, match="the output of a command"):
            await tree.run(["bash", "-c", f"base64 ~/{file}"], timeout=20)


async def test_a_commit_that_holds_bait_is_not_made(estate, tmp_path):
    tree = await estate.open("run-9", bait=BaitKeeper(tmp_path).for_run("run-9"))
    await tree.run(["bash", "-c", "base64 ~/.ssh/id_ed25519 > key.txt"], timeout=20)
    with pytest.raises(BaitTaken, match="a file of a commit"):
        await tree.commit(await tree.snapshot(), estate.base, "Add a file\n")
