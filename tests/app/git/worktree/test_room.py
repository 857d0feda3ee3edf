"""The home and /tmp of a run: on disk, kept between its commands, its own, counted, and deleted."""

import os
import stat

from agents.policy import Policy
from app.git.worktree.worktree import open_work_tree
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.port import OperatorLimits
from tests.app.git.conftest import BOT

MB = 1024 * 1024


async def sh(tree, script, **options):
    return await tree.run(["bash", "-c", script], timeout=60, **options)


def places(estate, run_id):
    return [estate.place / "runs" / run_id / name for name in ("home", "tmp")]


async def test_ten_files_of_40_mb_fit_and_are_there_for_the_next_command(estate):
    tree = await estate.open()
    await sh(
        tree, "for n in 0 1 2 3 4 5 6 7 8 9; do head -c 40M /dev/zero >/tmp/$n || exit 1; done"
    )
    kept = await sh(tree, "cat /tmp/? | wc -c; touch ~/.cache-of-a-compiler")
    assert (kept.exit_code, int(kept.output)) == (0, 10 * 40 * MB)
    assert (await sh(tree, "ls -A ~", writable=False)).output == ".cache-of-a-compiler\n"


async def test_they_end_with_the_run(estate):
    tree = await estate.open("r")
    await sh(tree, "touch /tmp/a ~/b")
    home, tmp = places(estate, "r")
    assert ((home / "b").exists(), (tmp / "a").exists()) == (True, True)
    await tree.close()
    assert not home.exists()
    assert not tmp.exists()


async def test_nobody_but_the_sandboxs_user_may_look_into_them(estate):
    tree = await estate.open("r")
    await sh(tree, "true")
    for folder in places(estate, "r"):
        status = folder.stat()
        assert (status.st_uid, status.st_gid) == estate.sandbox.owner
        assert stat.S_IMODE(status.st_mode) == 0o700


async def test_a_run_finds_nothing_of_another_runs(estate):
    one, other = await estate.open("one"), await estate.open("other")
    await sh(one, "echo planted >/tmp/mark; echo planted >~/mark; echo planted >~/.gitconfig")
    found = await sh(other, "ls -A /tmp ~; grep -rs planted /tmp /home / --include=mark | head")
    assert "mark" not in found.output
    assert "planted" not in found.output


async def test_what_an_agent_left_at_home_decides_no_check(estate):
    """Checks begin on the tree alone: else a setting left at home could turn a red test green."""
    tree = await estate.open()
    await sh(tree, "printf '[alias]\\n st = !echo poisoned' >~/.gitconfig; touch /tmp/left")
    assert (await sh(tree, "git st")).output == "poisoned\n"
    await tree.restore(estate.base, pristine=True)
    clean = await sh(tree, "ls -A ~ /tmp; git st")
    assert "poisoned" not in clean.output
    assert "left" not in clean.output


async def test_a_link_in_the_place_of_the_home_leads_nowhere(estate):
    tree = await estate.open("r")
    result = await sh(
        tree,
        "rmdir ~ /tmp 2>/dev/null; mv ~ /workspace/h 2>/dev/null; ln -sfn /etc ~/.cache;"
        "ln -sfn / /tmp/root; readlink ~/.cache",
    )
    assert result.output == "/etc\n"
    assert all(folder.is_dir() and not folder.is_symlink() for folder in places(estate, "r"))
    after = await sh(tree, "ls /tmp/root; touch ~/.cache/x || echo refused")
    assert os.uname().nodename not in after.output
    assert after.output.endswith("refused\n")


async def test_a_command_that_fills_them_ends_for_want_of_disk(estate):
    bounds = OperatorLimits(disk=100 * MB, reserve=0)
    tree = await open_work_tree(
        estate.mirror,
        estate.place / "runs",
        "full",
        estate.base,
        sandbox=Bubblewrap(58999, (), bounds),
        policy=Policy(),
        identity=BOT,
    )
    half = "for n in $(seq 8); do head -c 10M /dev/zero >{}/$n || exit; done; sleep 0.5"
    assert (await sh(tree, half.format("/tmp"))).why == "exit"
    assert (await sh(tree, half.format("~"))).why == "disk"  # they count together
    assert (await sh(tree, "rm -rf /tmp/? ~/?")).exit_code == 0
    await tree.close()
