"""The home and /tmp of a run: on disk, kept between its commands, its own, counted, and deleted."""

import os
import stat
import subprocess
from dataclasses import replace

import pytest

from app.git.worktree.installed_dependencies import CommandMounts
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.port import Mount, OperatorLimits

MB = 1024 * 1024


async def sh(tree, script, **options):
    return await tree.run(["bash", "-c", script], timeout=60, **options)


@pytest.fixture
def disk_of_its_own(estate, monkeypatch):
    """What is free is told by this test's files alone: others fill and free the same disk."""

    def free(_folder):
        argv = ["du", "-skx", str(estate.place)]
        used = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
        return 10**12 - int(used.split()[0]) * 1024

    monkeypatch.setattr("app.sandbox.disk_quota._read_free_bytes", free)


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


@pytest.mark.usefixtures("disk_of_its_own")
async def test_a_command_that_fills_them_ends_for_want_of_disk(estate):
    bounds = OperatorLimits(disk=100 * MB, reserve=0)
    tree = await replace(estate, sandbox=Bubblewrap(58999, (), bounds)).open("full")
    half = "for n in $(seq 8); do head -c 10M /dev/zero >{}/$n || exit; done; sleep 0.5"
    assert (await sh(tree, half.format("/tmp"))).why == "exit"
    assert (await sh(tree, half.format("~"))).why == "disk"  # they count together
    assert (await sh(tree, "rm -rf /tmp/? ~/?")).exit_code == 0
    await tree.close()


@pytest.mark.usefixtures("disk_of_its_own")
async def test_what_a_reading_command_writes_counts_until_it_ends(estate):
    bounds = OperatorLimits(disk=100 * MB, reserve=0)
    tree = await replace(estate, sandbox=Bubblewrap(58999, (), bounds)).open("full")
    await sh(tree, "head -c 60M /dev/zero >/tmp/a; sleep 0.5")
    fill = "for n in $(seq 8); do head -c 10M /dev/zero >$n || exit; done; sleep 0.5"
    assert (await sh(tree, fill, writable=False)).why == "disk"
    assert (await sh(tree, "rm /tmp/a; ls", writable=False)).output == "README.md\nsrc\n"
    assert (await sh(tree, fill, writable=False)).why == "exit"


# --- what the set-up left at home -----------------------------------------------------------------


@pytest.fixture
def seeded(estate):
    """Open runs of one repository that share what its set-up left in ~/.m2."""
    home = estate.place / "entry" / "home"
    seed = home / ".m2"
    (seed / "repository").mkdir(parents=True)
    (seed / "repository" / "lib.jar").write_text("fetched")
    if os.geteuid() == 0:
        for path in (seed, *seed.rglob("*")):
            os.chown(path, *estate.sandbox.owner)

    async def furnish(_commit):
        return CommandMounts(mounts=(Mount(seed, "/home/agent/.m2"),))

    async def open_run(name):
        return await estate.open(name, furnish=furnish)

    return seed, open_run


async def test_a_run_adds_to_what_the_set_up_left_and_keeps_it(seeded):
    _, open_run = seeded
    tree = await open_run("r")
    await sh(tree, "cat ~/.m2/repository/lib.jar >~/.m2/repository/built.jar")
    kept = await sh(tree, "cat ~/.m2/repository/built.jar", writable=False)
    assert (kept.exit_code, kept.output) == (0, "fetched")


async def test_no_run_writes_into_what_all_share(seeded):
    seed, open_run = seeded
    one, other = await open_run("one"), await open_run("other")
    attack = (
        "cd ~/.m2 && echo evil >repository/lib.jar && echo evil >repository/new.jar;"
        "ln -sf /etc/passwd repository/link; rm -rf repository/lib.jar; mv repository moved;"
        "chmod 777 ~/.m2; umount ~/.m2; echo evil >/proc/self/cwd/x; ls ~/.m2"
    )
    assert "moved" in (await sh(one, attack)).output
    assert [path.name for path in seed.rglob("*")] == ["repository", "lib.jar"]
    assert (seed / "repository" / "lib.jar").read_text() == "fetched"
    assert stat.S_IMODE(seed.stat().st_mode) == 0o755
    seen = await sh(other, "cat ~/.m2/repository/lib.jar; ls ~/.m2/repository")
    assert seen.output == "fetchedlib.jar\n"


async def test_a_run_begins_anew_from_it_where_checks_begin(estate, seeded):
    _, open_run = seeded
    tree = await open_run("r")
    await sh(tree, "echo evil >~/.m2/repository/lib.jar; echo evil >~/.m2/settings.xml")
    await tree.restore(estate.base, pristine=True)
    assert (await sh(tree, "cd ~/.m2; cat repository/lib.jar; ls")).output == "fetchedrepository\n"


async def test_a_link_that_an_agent_left_in_its_place_is_taken_away(seeded):
    _, open_run = seeded
    tree = await open_run("r")
    await sh(tree, "true")
    home = tree.files.parent / "home"
    (home / ".m2").rmdir()
    (home / ".m2").symlink_to("/etc")
    assert (await sh(tree, "ls ~/.m2")).output == "repository\n"
    assert not (home / ".m2").is_symlink()


async def test_fettles_own_searches_pay_for_no_layer(seeded):
    _, open_run = seeded
    tree = await open_run("r")
    found = await tree.run(["cat", "/proc/self/mounts"], timeout=20, writable=False)
    assert " overlay " not in found.output
