"""Each run at work is a user of its own, whose limits in the kernel no other run uses up."""

from __future__ import annotations

import asyncio
import gc
import os
import threading

import pytest

from app.git.worktree.installed_dependencies import CommandMounts
from app.git.worktree.overlay import lay_room
from app.git.worktree.untrusted_git import RunFolders
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.port import HOME, Mount, SandboxCommand
from app.sandbox.user_slots import COUNT, UserSlots
from tests.patience import LOOKS, PATIENCE

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")


def lay(runs, name, owner=None):
    """Make the folder of a run whose files belong to this user."""
    folder = runs / name
    (folder / "ws").mkdir(parents=True)
    if owner is not None:
        os.chown(folder / "ws", owner, -1)
    return folder


def test_no_two_runs_are_the_same_user_and_each_stays_who_it_is(tmp_path):
    slots = UserSlots(70_000)
    folders = [tmp_path / str(number) for number in range(COUNT)]
    users = [slots.choose(folder) for folder in folders]
    assert len(set(users)) == COUNT
    assert 70_000 not in users
    assert [slots.choose(folder) for folder in folders] == users
    assert slots.choose(tmp_path / "one more") in users
    slots.release(folders[7])
    slots.release(tmp_path / "one more")
    assert slots.choose(tmp_path / "the next") == users[7]


@as_root
def test_who_a_run_was_before_a_restart_its_files_tell(tmp_path):
    before = [lay(tmp_path, str(user), user) for user in range(70_001, 70_000 + COUNT)]
    slots = UserSlots(70_000)
    assert slots.choose(tmp_path / "new") == 70_000 + COUNT
    assert slots.choose(before[0]) == 70_001
    assert slots.choose(lay(tmp_path, "before there were slots", 70_000)) == 70_000
    stranger = lay(tmp_path, "of root", 0)
    assert slots.choose(stranger) in slots.users[1:]


HOLD_INOTIFY = """
import ctypes, pathlib, sys, time
libc, held = ctypes.CDLL(None), 0
while libc.inotify_init() >= 0:
    held += 1
pathlib.Path("/workspace/held").write_text(str(held))
time.sleep(float(sys.argv[1]))
"""
HOLD_IN_FLIGHT = """
import array, pathlib, resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
kept, held = [], 0
try:
    while True:
        one, other = socket.socketpair()
        kept.append((one, other))
        for _ in range(50):
            fds = array.array("i", [0] * 200)
            one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            held += 200
except OSError:
    pass
pathlib.Path("/workspace/held").write_text(str(held))
time.sleep(float(sys.argv[1]))
"""


@as_root
@pytest.mark.parametrize("script", [HOLD_INOTIFY, HOLD_IN_FLIGHT], ids=["inotify", "in flight"])
@pytest.mark.parametrize("apart", [False, True], ids=["the same user", "users of their own"])
async def test_what_the_kernel_allows_a_user(sandbox, open_folder, script, apart):
    """Where both are the same user, the second finds little left: that is what is kept apart."""
    backend = Bubblewrap(sandbox.owner[0])

    def make(name, seconds):
        tree = open_folder / name / "ws"
        runner = backend.for_run(tree.parent) if apart else backend
        tree.mkdir(parents=True)
        os.chown(tree, *runner.owner)
        mounts = (Mount(tree, "/workspace", writable=True),)
        argv = ("python3", "-c", script, str(seconds))
        return runner.run(SandboxCommand(argv, mounts=mounts, timeout=60)), tree / "held"

    greedy, taken = make("greedy", 50)
    task = asyncio.create_task(greedy)
    for _ in range(LOOKS):
        if taken.exists() and taken.read_text():
            break
        await asyncio.sleep(0.02)
    later, left = make("later", 0)
    result = await later
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert result.exit_code == 0, result.output
    first, second = int(taken.read_text()), int(left.read_text())
    assert first > 50
    assert (second >= first * 0.9) == apart, (first, second)


@as_root
@pytest.mark.parametrize("same", [True, False], ids=["as its own user", "as another"])
async def test_what_is_installed_at_home_is_added_to_and_stays_as_it_is(sandbox, open_folder, same):
    """In a layer, where the run is the user who installed it; in a copy, where another run is."""
    backend = Bubblewrap(sandbox.owner[0])
    installed = open_folder / "entry" / ".tool"
    (installed / "deep").mkdir(parents=True)
    (installed / "deep" / "known").write_text("one\n")
    builder = backend.owner[0] + 7
    for path in (installed, installed / "deep", installed / "deep" / "known"):
        os.chown(path, builder, backend.owner[1])
    if not same:
        lay(open_folder, "other", builder)
    run = open_folder / "run"
    runner = backend.for_run(run, installed)
    assert (runner.owner[0] == builder) == same
    run.mkdir()
    furnishing = CommandMounts(mounts=(Mount(installed, f"{HOME}/.tool"),))
    script = "cd ~/.tool/deep && echo two >>known && echo new >more && cat known more"
    for expected in ("one\ntwo\nnew\n", "one\ntwo\ntwo\nnew\n"):  # kept for the next command
        mounts = tuple(lay_room(RunFolders(run), furnishing, runner.owner))
        command = SandboxCommand(("bash", "-c", script), folder="/", mounts=mounts)
        assert (await runner.run(command)).output == expected
    assert (installed / "deep" / "known").read_text() == "one\n"
    assert not (installed / "deep" / "more").exists()


@as_root
async def test_commands_of_a_run_are_its_user_and_reach_nothing_of_another(sandbox, open_folder):
    backend = Bubblewrap(sandbox.owner[0])
    one, other = (backend.for_run(open_folder / name) for name in ("one", "other"))
    assert one.owner[0] != other.owner[0] != backend.owner[0]
    assert one.owner[1] == other.owner[1] == backend.owner[1]
    assert backend.for_run(open_folder / "one") is one
    tree = lay(open_folder, "one", one.owner[0]) / "ws"
    theirs = (Mount(tree, "/workspace", writable=True),)
    wrote = await one.run(SandboxCommand(("bash", "-c", "umask 077; echo s >f"), mounts=theirs))
    assert wrote.exit_code == 0, wrote.output
    assert (tree / "f").stat().st_uid == one.owner[0]
    read = await other.run(SandboxCommand(("cat", "f"), mounts=theirs))
    assert "Permission denied" in read.output


@as_root
async def test_a_run_that_is_over_leaves_no_thread(sandbox, open_folder):
    def find_threads():
        return {each for each in threading.enumerate() if each.name.startswith("lowered")}

    backend = Bubblewrap(sandbox.owner[0])
    tree = open_folder / "tree"
    tree.mkdir()
    command = SandboxCommand(("true",), mounts=(Mount(tree, "/workspace"),), timeout=60)
    before = find_threads()
    for number in range(5):
        runner = backend.for_run(open_folder / str(number))
        result = await runner.run(command)
        assert result.exit_code == 0, result.output
        assert find_threads() - before
        backend.release(open_folder / str(number))
        again = await runner.run(command)  # whoever still has it
        assert again.exit_code == 0, again.output
        del runner
    async with asyncio.timeout(PATIENCE):
        while find_threads() - before:  # each ends by itself
            gc.collect()
            await asyncio.sleep(0.01)
