"""Control groups of the real kernel, as far as this machine lets us make some."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from app.sandbox.cgroups.cgroup import Cgroup, CgroupFactory, CgroupLimits, use_version_2
from app.sandbox.cgroups.delegation import (
    CgroupTree,
    NotDelegatedError,
    enable_controllers,
    find_cgroups,
    find_delegated_folder,
    find_trees,
    vacate,
)
from tests.patience import PATIENCE

QUOTA = CgroupLimits(memory=64 * 1024**2, processes=20, processors=1.75)


def our_tree():
    own = Path("/proc/self")
    return find_trees((own / "mountinfo").read_text(), (own / "cgroup").read_text()).get("")


@pytest.fixture
def place():
    """A group of version 2 that we may do anything with."""
    tree = our_tree()
    if tree is None or not os.access(tree.folder, os.W_OK):
        pytest.skip("cgroup v2 cannot be written here")
    made = tree.folder / f"fettle-test-{os.getpid()}"
    made.mkdir()
    yield made
    for folder in (*made.glob("*/"), made):
        _retry(folder.rmdir)


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "30"])
    yield process
    process.kill()
    process.wait()


def _retry(action):
    for _ in range(100):
        try:
            return action()
        except OSError:
            time.sleep(0.01)
    return action()


def members(folder):
    return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]


# --- one group ------------------------------------------------------------------------------------


def bare(place):
    """Return groups without limits: which controllers version 2 has is the machine's decision."""
    return CgroupFactory(
        "cgroup v2", {"memory": place}, place.parent, lambda _: [], "cgroup.events"
    )


def test_a_process_is_put_in_and_what_is_left_ends_with_the_group(place, sleeper):
    group = bare(place).make(QUOTA)
    group.add(sleeper.pid)
    (folder,) = place.glob("fettle.*")
    assert members(folder) == [sleeper.pid]
    assert not group.ran_out_of_memory()
    group.remove()
    assert not folder.exists()
    assert sleeper.wait(PATIENCE) == -9


def test_groups_of_dead_processes_are_swept_and_others_stay(place):
    gone = subprocess.Popen(["true"])
    gone.wait()
    (place / f"fettle.{gone.pid}.0").mkdir()
    (place / f"fettle.{os.getpid()}.0").mkdir()
    (place / "somebody-else").mkdir()
    bare(place).sweep()
    left = {folder.name for folder in place.glob("*/")}
    assert left == {f"fettle.{os.getpid()}.0", "somebody-else"}


def test_a_group_that_cannot_have_its_limits_leaves_nothing(place):
    with pytest.raises(OSError, match="nonsense"):
        CgroupFactory(
            "cgroup v2",
            {"memory": place},
            place.parent,
            lambda _: [("memory", "nonsense", "1")],
            "",
        ).make(QUOTA)
    assert not list(place.glob("fettle.*"))


def test_what_is_written_in_version_2():
    written = {(file, value) for _, file, value in use_version_2({}, Path("/"))._settings(QUOTA)}
    assert written == {
        ("memory.max", "67108864"),
        ("memory.swap.max", "0"),
        ("memory.oom.group", "1"),
        ("pids.max", "20"),
        ("cpu.max", "175000 100000"),
    }


def test_what_the_kernel_takes_in_the_version_of_this_machine():
    found, why_not = find_cgroups()
    if found is None:
        pytest.skip(f"no control groups here: {why_not}")
    group = found.make(QUOTA)
    try:
        texts = {
            file.name: file.read_text().strip()
            for folder in group._folders
            for file in folder.iterdir()
            if file.name in {"memory.max", "memory.limit_in_bytes", "pids.max", "cpu.max"}
        }
    finally:
        group.remove()
    assert texts["pids.max"] == "20"
    assert texts.get("memory.max", texts.get("memory.limit_in_bytes")) == "67108864"


@pytest.mark.parametrize(("count", "expected"), [("0", False), ("3", True)])
def test_memory_that_was_used_up_is_told(tmp_path, count, expected):
    events = tmp_path / "memory.events"
    events.write_text(f"low 0\nhigh 0\nmax 12\noom 1\noom_kill {count}\noom_group_kill 0\n")
    assert Cgroup([], events).ran_out_of_memory() is expected


# --- where groups may be made ---------------------------------------------------------------------


def test_only_what_was_marked_as_ours_is_ours(place):
    mount = our_tree().mount
    name = place.relative_to(mount)
    child = place / "unit"
    child.mkdir()
    with pytest.raises(NotDelegatedError, match="Delegate=yes"):
        find_delegated_folder(CgroupTree(mount, f"/{name}/unit"))
    os.setxattr(place, "trusted.delegate" if os.geteuid() == 0 else "user.delegate", b"1")
    assert find_delegated_folder(CgroupTree(mount, f"/{name}")) == place
    assert find_delegated_folder(CgroupTree(mount, f"/{name}/unit")) == place  # moved there before
    child.rmdir()


def test_everybody_moves_to_a_leaf_and_then_groups_can_have_controllers(place, sleeper):
    (place / "cgroup.procs").write_text(str(sleeper.pid))
    controllers = (place / "cgroup.controllers").read_text().split()
    leaf = vacate(place)
    assert members(place) == []
    assert members(leaf) == [sleeper.pid]
    enable_controllers(place, controllers[:1])
    enable_controllers(place, controllers[:1])
    assert (place / "cgroup.subtree_control").read_text().split() == controllers[:1]
    enable_again = vacate(place)
    assert enable_again == leaf
    sleeper.kill()
    sleeper.wait()
    for name in controllers[:1]:
        (place / "cgroup.subtree_control").write_text(f"-{name}")


SYSTEMD = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
CONTAINER = "700 690 0:30 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"
HOST_NAMESPACE = "700 690 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
HYBRID = (
    "33 31 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "36 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)


@pytest.mark.parametrize(
    ("mountinfo", "cgroup", "folders"),
    [
        (
            SYSTEMD,
            "0::/system.slice/fettle.service\n",
            {"": "/sys/fs/cgroup/system.slice/fettle.service"},
        ),
        (CONTAINER, "0::/\n", {"": "/sys/fs/cgroup"}),
        (HOST_NAMESPACE, "0::/docker/abc/x\n", {"": "/sys/fs/cgroup/x"}),
        (SYSTEMD, "0::/../other\n", {}),
        ("22 27 0:21 / /proc rw - proc proc rw\n", "0::/\n", {}),
        (
            HYBRID,
            "8:pids:/\n4:memory:/a/b\n1:cpu,cpuacct:/c\n0::/\n",
            {
                "": "/sys/fs/cgroup/unified",
                "pids": "/sys/fs/cgroup/pids",
                "memory": "/sys/fs/cgroup/memory/a/b",
                "cpu": "/sys/fs/cgroup/cpu/c",
                "cpuacct": "/sys/fs/cgroup/cpu/c",
            },
        ),
    ],
)
def test_our_own_place_is_found(mountinfo, cgroup, folders):
    trees = find_trees(mountinfo, cgroup)
    assert {name: str(tree.folder) for name, tree in trees.items()} == folders


def test_version_2_is_taken_where_it_has_what_is_needed(tmp_path):
    """A root of version 2, played by files: what is switched on there, and where groups go."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tree / "cgroup.procs").write_text("")
    (tree / "cgroup.subtree_control").write_text("cpu pids\n")
    (tmp_path / "mountinfo").write_text(f"35 24 0:30 / {tree} rw - cgroup2 cgroup2 rw\n")
    (tmp_path / "cgroup").write_text("0::/\n")
    found, why_not = find_cgroups(tmp_path)
    assert why_not == ""
    assert found.version == "cgroup v2"
    assert set(found.controllers) == {"memory", "pids", "cpu"}
    assert (tree / "cgroup.subtree_control").read_text().startswith("+")
    (tree / "cgroup.controllers").write_text("cpu io\n")
    found, why_not = find_cgroups(tmp_path)
    assert found is None
    assert "`memory`" in why_not


def test_without_any_the_reason_is_told(tmp_path):
    (tmp_path / "mountinfo").write_text("22 27 0:21 / /proc rw - proc proc rw\n")
    (tmp_path / "cgroup").write_text("0::/\n")
    found, why_not = find_cgroups(tmp_path)
    assert found is None
    assert "Delegate=yes" in why_not or "systemd" in why_not
