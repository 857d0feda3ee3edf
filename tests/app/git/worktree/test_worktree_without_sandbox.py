"""The whole life of a work tree where nothing can be mounted: paths are translated instead."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from agents.errors import RunError
from app.git.mirror.mirror import Mirror
from app.sandbox.none.backend import NoSandbox


@pytest.fixture
def unmounted(estate):
    """The estate of the other tests, for a sandbox whose user is another one."""
    other = NoSandbox(58996)
    folder = Path(tempfile.mkdtemp(prefix="fettle-test-"))
    folder.chmod(0o755)
    mirror = Mirror(folder / "mirrors/1.git", group=other.owner[1], allow_files=True)
    asyncio.run(mirror.fetch(f"file://{estate.upstream}", None))
    yield replace(estate, place=folder, mirror=mirror, sandbox=other)
    shutil.rmtree(folder, ignore_errors=True)


async def sh(tree, script, **options):
    return await tree.run(["bash", "-c", script], timeout=20, **options)


async def test_snapshot_restore_and_commit(unmounted):
    tree = await unmounted.open("r")
    seen = await sh(tree, "git status --short; git log --format=%s; cat /workspace/src/a.py")
    assert (seen.exit_code, seen.output) == (0, "first\nA = 1\n")
    written = await sh(tree, "echo B = 3 >src/b.py; mkdir build; touch build/o; git diff --stat")
    assert "src/b.py" in written.output
    state = await tree.snapshot()
    assert await tree.list_changed_paths(unmounted.base, state) == ["src/b.py"]
    await sh(tree, "rm -rf src; echo x >y")
    await tree.restore(state)
    listed = await sh(tree, "ls -d src/b.py y build/o; git status --short")
    assert listed.output.split("\n")[-2] == " M src/b.py"
    commit = await tree.commit(state, unmounted.base, "Step 1/1")
    assert (await sh(tree, "git log --format=%s; git status --short")).output == "Step 1/1\nfirst\n"
    assert await tree.show(commit, "src/b.py") == b"B = 3\n"
    again = await unmounted.open("r")
    await again.restore(commit, pristine=True)
    assert (await sh(again, "ls")).output == "README.md\nsrc\n"


async def test_home_and_tmp_are_kept_for_the_run_alone(unmounted):
    tree, other = await unmounted.open("r"), await unmounted.open("other")
    await sh(tree, "echo 1 >/tmp/a; echo 2 >~/b; echo 3 >$TMPDIR/c")
    assert (await sh(tree, "cat /tmp/a ~/b /tmp/c; echo ~")).output == "1\n2\n3\n/home/agent\n"
    assert (await sh(other, "ls -A ~ /tmp | grep -v :")).output.split() == []


async def test_output_knows_no_path_of_this_machine(unmounted):
    tree = await unmounted.open("r")
    result = await sh(
        tree, "pwd -P; git rev-parse --show-toplevel; cat .git/objects/info/alternates"
    )
    assert result.output == "/workspace\n/workspace\n/git/objects\n"


async def test_a_read_only_command_changes_nothing(unmounted):
    tree = await unmounted.open("r")
    before = await tree.snapshot()
    await sh(
        tree, "echo x >new; echo y >>src/a.py; touch .git/x; chmod 755 README.md", writable=False
    )
    assert await tree.snapshot() == before
    assert not (unmounted.place / "runs/r/agent.git/x").exists()


async def test_the_mirror_is_out_of_reach(unmounted):
    tree = await unmounted.open("r")
    await sh(tree, "touch /git/objects/x; rm -rf /git/objects/pack; chmod 777 /git/objects")
    assert await unmounted.mirror.head_of("main") == unmounted.base
    objects = unmounted.mirror.objects
    if os.geteuid() == 0:
        assert not (objects / "x").exists()
        assert objects.stat().st_mode & 0o777 != 0o777


async def test_a_lost_git_directory_hurts_the_agent_alone(unmounted):
    tree = await unmounted.open("r")
    await sh(tree, "rm -rf .git; echo B = 5 >src/b.py")
    state = await tree.snapshot()
    assert await tree.list_changed_paths(unmounted.base, state) == ["src/b.py"]
    assert (await sh(tree, "git status --short")).output == " M src/b.py\n"


async def test_something_else_in_its_place_is_said(unmounted):
    tree = await unmounted.open("r")
    await sh(tree, "rm .git; mkdir -p .git/x")
    with pytest.raises(RunError, match=r"/workspace/\.git"):
        await sh(tree, "git status")
    state = await tree.snapshot()
    assert (
        state
        == subprocess.run(
            [
                "git",
                f"--git-dir={unmounted.mirror.gitdir}",
                "rev-parse",
                f"{unmounted.base}^{{tree}}",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
