"""What commands may fill of the disk, judged by real files, and cheap while nothing is written."""

import asyncio
import os
from dataclasses import replace

import pytest

from agents.errors import TransientError
from app.sandbox.disk_quota import DiskQuota
from app.sandbox.port import Mount, OperatorLimits, SandboxCommand

MB = 1024 * 1024


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


@pytest.fixture
def disk_of_its_own(tmp_path, monkeypatch):
    """What is free is told by this test's files alone: others fill and free the same disk."""

    def free(_folder):
        return 10**12 - sum(each.lstat().st_blocks * 512 for each in tmp_path.rglob("*"))

    monkeypatch.setattr("app.sandbox.disk_quota._read_free_bytes", free)


def command(*folders, writable=True):
    mounts = tuple(Mount(folder, f"/f{at}", writable) for at, folder in enumerate(folders))
    return SandboxCommand(("true",), mounts=mounts)


def fill(path, megabytes):
    with path.open("wb") as file:
        file.write(b"x" * (megabytes * MB))
        file.flush()
        os.fsync(file.fileno())


async def ends(room, within=3.0):
    """Tell whether the watch stops the command within these seconds."""
    try:
        await asyncio.wait_for(room.watch(), within)
    except TimeoutError:
        return False
    return True


@pytest.mark.usefixtures("disk_of_its_own")
async def test_a_command_that_takes_too_much_is_stopped(tree):
    room = DiskQuota(OperatorLimits(disk=80 * MB, reserve=0)).allow(command(tree))
    watching = asyncio.create_task(ends(room))
    fill(tree / "big", 150)
    assert await watching


@pytest.mark.usefixtures("disk_of_its_own")
async def test_all_folders_of_a_run_count_together(tree, tmp_path):
    (tmp_path / "git").mkdir()
    room = DiskQuota(OperatorLimits(disk=80 * MB, reserve=0)).allow(command(tree, tmp_path / "git"))
    fill(tree / "a", 75)
    fill(tmp_path / "git" / "b", 75)
    assert await ends(room)


@pytest.mark.usefixtures("disk_of_its_own")
async def test_what_a_command_only_reads_counts_as_well_if_it_is_the_runs(tree, tmp_path):
    (tmp_path / "home").mkdir()
    fill(tree / "sources", 60)
    reading = replace(command(tmp_path / "home"), kept=(tree,))
    room = DiskQuota(OperatorLimits(disk=100 * MB, reserve=0)).allow(reading)
    watching = asyncio.create_task(ends(room))
    fill(tmp_path / "home" / "big", 80)
    assert await watching


@pytest.mark.usefixtures("disk_of_its_own")
async def test_what_stays_below_goes_on(tree):
    room = DiskQuota(OperatorLimits(disk=300 * MB, reserve=0)).allow(command(tree))
    fill(tree / "big", 100)
    assert not await ends(room, within=0.8)
    assert not await room.was_exceeded()


@pytest.mark.usefixtures("disk_of_its_own")
async def test_a_command_that_was_quicker_than_the_watch_is_found_at_its_end(tree):
    room = DiskQuota(OperatorLimits(disk=80 * MB, reserve=0)).allow(command(tree))
    fill(tree / "big", 150)
    assert await room.was_exceeded()


@pytest.mark.usefixtures("disk_of_its_own")
async def test_many_small_commands_are_found_as_well(tree):
    disk = DiskQuota(OperatorLimits(disk=100 * MB, reserve=0))
    found = []
    for number in range(8):
        room = disk.allow(command(tree))
        fill(tree / str(number), 30)
        found.append(await room.was_exceeded())
    assert not any(found[:3])
    assert any(found[3:])


@pytest.mark.usefixtures("disk_of_its_own")
async def test_whoever_is_over_it_may_clean_up_but_not_go_on(tree):
    disk = DiskQuota(OperatorLimits(disk=80 * MB, reserve=0))
    fill(tree / "big", 150)
    fill(tree / "more", 70)
    first = disk.allow(command(tree))
    fill(tree / "even-more", 70)
    assert await first.was_exceeded()
    cleaning = disk.allow(command(tree))
    (tree / "more").unlink()
    assert not await cleaning.was_exceeded()
    again = disk.allow(command(tree))
    fill(tree / "again", 200)
    assert await again.was_exceeded()


async def test_deep_trees_and_links_hide_nothing_and_lead_nowhere(tree, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    fill(tmp_path / "elsewhere" / "big", 200)
    (tree / "link").symlink_to(tmp_path / "elsewhere")
    folder = os.open(tree, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("deep-folder", dir_fd=folder)
        below = os.open("deep-folder", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    room = DiskQuota(OperatorLimits(disk=150 * MB, reserve=0)).allow(command(tree))
    room._disk.get_usage(tree).size = 150 * MB  # have it walked
    assert not await room.was_exceeded()
    hidden = os.open("hidden", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=folder)
    os.write(hidden, b"x" * (200 * MB))
    os.close(hidden)
    os.close(folder)
    assert await room.was_exceeded()


async def test_nothing_begins_when_the_disk_is_nearly_full(tree):
    disk = DiskQuota(OperatorLimits(reserve=2**60))
    with pytest.raises(TransientError) as caught:
        disk.allow(command(tree))
    text = str(caught.value)
    assert str(tree) in text
    assert "FETTLE_DISK_RESERVE_MB" in text
    assert caught.value.retry_after
    disk.allow(command(tree, writable=False))


async def test_a_disk_that_gets_full_stops_commands_without_blaming_them(tree):
    disk = DiskQuota(OperatorLimits(reserve=0))
    room = disk.allow(command(tree))
    disk.bounds = OperatorLimits(reserve=2**60)
    with pytest.raises(TransientError):
        await room.watch()


@pytest.mark.usefixtures("disk_of_its_own")
async def test_a_thousand_quota_checks_do_not_walk_the_tree(tree):
    fill(tree / "file", 1)
    disk = DiskQuota(OperatorLimits(reserve=0))
    for _ in range(1000):
        room = disk.allow(command(tree))
        assert not await room.was_exceeded()
    assert not disk.get_usage(tree).known, "a walk of the folders tells what they take"
