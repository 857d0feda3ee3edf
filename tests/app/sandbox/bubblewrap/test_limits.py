"""Every limit of a command, once: it is reached, it holds, and what is said is right."""

import asyncio
import os
from pathlib import Path

import pytest

from agents.errors import TransientError
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.cgroups.cgroup import use_version_2
from app.sandbox.cgroups.delegation import find_cgroups
from app.sandbox.port import Mount, OperatorLimits, ResourceLimits, SandboxCommand
from tests.patience import LOOKS

MB = 1024 * 1024

BOMB = (
    "my @started; for (1..150) { my $pid = fork; last unless defined $pid;"
    " if (!$pid) { sleep 600; exit } push @started, $pid } print scalar(@started); sleep 1"
)


@pytest.fixture
def groups():
    found, why_not = find_cgroups()
    if found is None:
        pytest.skip(f"no control groups here: {why_not}")
    return found


@pytest.fixture
def small(sandbox, groups, open_folder):
    """Run a bash script where a command may have 96 MB of memory."""
    bounded = Bubblewrap(
        sandbox.owner[0], bounds=OperatorLimits(memory=96 * MB), find=lambda: (groups, "")
    )

    async def run(script, **options):
        return await bounded.run(SandboxCommand(("bash", "-c", script), folder="/", **options))

    return run


@pytest.fixture
def rlimits_only(sandbox):
    """A sandbox on a machine that delegates no control groups."""
    return Bubblewrap(
        sandbox.owner[0],
        bounds=OperatorLimits(memory=96 * MB),
        find=lambda: (None, "none is delegated"),
    )


def group_of(pid, controller):
    """Return the folder of a process's control group."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return Path("/sys/fs/cgroup", names, path.lstrip("/"))
        if not names and not Path("/sys/fs/cgroup", controller).is_dir():
            return Path("/sys/fs/cgroup", path.lstrip("/"))
    raise AssertionError(controller)


# --- processes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_groups", [True, False])
async def test_fork_bombs_hit_the_limit(sandbox, rlimits_only, with_groups):
    chosen = sandbox if with_groups else rlimits_only
    bomb = SandboxCommand(
        ("perl", "-e", BOMB), folder="/", limits=ResourceLimits(nproc=40), timeout=60
    )
    result = await chosen.run(bomb)
    assert 20 < int(result.output) < 40
    assert result.why == "exit", "its processes end with it, ten minutes before they would"


async def test_the_limit_cannot_be_raised_inside(bash):
    raised = await bash("ulimit -u 100000", limits=ResourceLimits(nproc=40))
    assert raised.exit_code != 0


async def test_a_fork_bomb_leaves_other_sandboxes_alone(rlimits_only):
    """The limit counts the processes of one sandbox, although all have the same user."""
    bomb = SandboxCommand(
        ("perl", "-e", BOMB), folder="/", limits=ResourceLimits(nproc=40), timeout=20
    )
    results = await asyncio.gather(*(rlimits_only.run(bomb) for _ in range(3)))
    assert all(20 < int(result.output) < 40 for result in results)


# --- memory ---------------------------------------------------------------------------------------


async def test_address_space_can_be_limited(bash):
    result = await bash(
        "perl -e 'my $x = \"a\" x 500_000_000; print 1'", limits=ResourceLimits(memory=200_000_000)
    )
    assert result.exit_code != 0
    assert "memory" in result.output.lower()


async def test_without_groups_each_process_has_its_memory(rlimits_only):
    command = SandboxCommand(("perl", "-e", 'my $x = "a" x 500_000_000; print 1'), folder="/")
    result = await rlimits_only.run(command)
    assert result.exit_code != 0
    assert "memory" in result.output.lower()
    assert "rlimits" in (await rlimits_only.probe()).notes[0]
    assert "none is delegated" in (await rlimits_only.probe()).notes[0]


async def test_with_groups_all_processes_share_their_memory(small, none_left):
    mark = "72.0417"
    part = "perl -e '$x = \"a\" x 40_000_000; print STDERR 1; sleep 20' &"
    result = await small(f"sleep {mark} & {part * 4} wait", timeout=30)
    assert (result.exit_code, result.why) == (137, "memory")
    assert await none_left(mark)


async def test_with_groups_files_in_memory_count_as_well(small):
    result = await small("head -c 200M /dev/zero >/tmp/big; echo end")
    assert result.why == "memory"


async def test_what_stays_below_is_not_disturbed(small):
    result = await small("perl -e '$x = \"a\" x 40_000_000; print length $x'")
    assert (result.why, result.output) == ("exit", "40000000")


async def test_the_probe_tells_what_holds_the_limits(sandbox, groups):
    assert groups.version in (await sandbox.probe()).notes[0]


# --- control groups -------------------------------------------------------------------------------


async def test_a_command_is_in_its_group_from_its_first_moment(sandbox, groups, started):
    mark = "73.0417"
    command = SandboxCommand(
        ("sleep", mark), folder="/", limits=ResourceLimits(nproc=77), timeout=20
    )
    running_command = asyncio.create_task(sandbox.run(command))
    while not (sleeping := [pid for pid in await started(mark) if _name(pid) == "sleep"]):
        await asyncio.sleep(0.02)
    (pid,) = sleeping
    folder = group_of(pid, "pids")
    assert folder.name.startswith(f"fettle.{os.getpid()}.")
    assert (folder / "pids.max").read_text() == "77\n"
    assert (folder / "cgroup.procs").read_text().split() == [str(pid)]
    running_command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running_command
    await _wait_until_gone(folder)


async def test_groups_are_removed_after_the_command(sandbox, groups):
    for script in ("true", "sleep 20 & true", "sleep 20"):
        await sandbox.run(SandboxCommand(("sh", "-c", script), folder="/", timeout=0.5))
    for place in {group_of("self", name) for name in groups.controllers}:
        for folder in place.glob(f"fettle.{os.getpid()}.*"):
            await _wait_until_gone(folder)


async def test_no_command_begins_without_its_group(sandbox, open_folder):
    (open_folder / "tree").mkdir()
    (open_folder / "tree").chmod(0o777)
    nowhere = use_version_2({"memory": open_folder / "gone"}, open_folder)
    held_by_nothing = Bubblewrap(sandbox.owner[0], find=lambda: (nowhere, ""))
    mounts = (Mount(open_folder / "tree", "/workspace", writable=True),)
    with pytest.raises(TransientError, match="control group"):
        await held_by_nothing.run(SandboxCommand(("touch", "begun"), mounts=mounts))
    assert list((open_folder / "tree").iterdir()) == []


async def test_a_full_user_is_nobodys_fault(sandbox):
    said = "bwrap: Creating new namespace failed: Resource temporarily unavailable"
    with pytest.raises(TransientError, match="could not start"):
        sandbox._raise_start_error(SandboxCommand(("true",)), said, None)


# --- files, time ----------------------------------------------------------------------------------


async def test_files_have_a_largest_size(bash):
    result = await bash(
        "head -c 3000000 /dev/zero >big; stat -c %s big", limits=ResourceLimits(fsize=1_048_576)
    )
    assert result.output.split()[-1] == "1048576"


async def test_processor_time_is_limited(bash):
    result = await bash("exec perl -e 'while (1) {}'", limits=ResourceLimits(cpu=1), timeout=30)
    assert result.why == "killed"


async def test_open_files_are_limited(bash):
    assert (await bash("ulimit -n", limits=ResourceLimits(nofile=77))).output == "77\n"


async def test_nothing_dumps_core(bash):
    assert (await bash("ulimit -Hc")).output == "0\n"


async def test_limits_that_are_higher_than_our_own_are_no_mistake(bash):
    assert (await bash("echo fine", limits=ResourceLimits(nofile=2**40))).output == "fine\n"


# --- disk -----------------------------------------------------------------------------------------


HELD = """
import os, time
kept = []
for number in range(6):
    name = f"/workspace/{number}"
    kept.append(os.open(name, os.O_RDWR | os.O_CREAT))
    os.unlink(name)
    for _ in range(40):
        os.write(kept[-1], b"x" * 1_000_000)
time.sleep(60)
"""
EMPTY = "for ((i = 0; i < 100000; i++)); do : >/workspace/$i; done; sleep 60"


@pytest.mark.parametrize(
    ("argv", "bounds"),
    [
        (("python3", "-c", HELD), {"disk": 150 * MB}),
        (("bash", "-c", EMPTY), {"files": 10_000}),
    ],
    ids=["what has no name", "empty files"],
)
async def test_what_no_size_shows_counts_as_well(sandbox, open_folder, argv, bounds):
    tree = open_folder / "tree"
    tree.mkdir()
    tree.chmod(0o777)
    bounded = Bubblewrap(sandbox.owner[0], bounds=OperatorLimits(reserve=0, **bounds))
    mounts = (Mount(tree, "/workspace", writable=True),)
    result = await bounded.run(SandboxCommand(argv, mounts=mounts, timeout=50))
    assert (result.exit_code, result.why) == (137, "disk")


async def test_no_room_is_taken_at_a_stroke(bash):
    """What wants room in advance gets it by writing, as on disks that cannot reserve any."""
    result = await bash(
        "cd /tmp; fallocate -l 2M a; python3 -c 'import os; "
        'os.posix_fallocate(os.open("b", os.O_RDWR | os.O_CREAT), 0, 4096)\'; stat -c %s b'
    )
    assert "not supported" in result.output
    assert result.output.endswith("4096\n")


async def test_a_command_that_fills_the_disk_is_stopped(sandbox, open_folder, none_left):
    tree = open_folder / "tree"
    tree.mkdir()
    tree.chmod(0o777)
    mark = "74.0417"
    bounded = Bubblewrap(sandbox.owner[0], bounds=OperatorLimits(disk=100 * MB, reserve=0))
    fill = f"sleep {mark} & for i in $(seq 400); do head -c 5M /dev/zero >$i; sleep 0.02; done"
    mounts = (Mount(tree, "/workspace", writable=True),)
    result = await bounded.run(SandboxCommand(("bash", "-c", fill), mounts=mounts, timeout=40))
    assert (result.exit_code, result.why) == (137, "disk")
    assert await none_left(mark)
    assert sum(file.stat().st_size for file in tree.iterdir()) < 1000 * MB


def _name(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()


async def _wait_until_gone(folder):
    for _ in range(LOOKS):
        if not folder.exists():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{folder} is left")
