"""A process group is read within bounds and leaves nothing behind."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from agents.errors import TransientError
from app.sandbox.output_buffer import FullBuffer, HeadTailBuffer
from app.sandbox.process_group import make_memory_file, run_group
from tests.patience import LOOKS

PATH = {"PATH": "/usr/bin:/bin"}


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


async def wait_until_gone(pid):
    for _ in range(LOOKS):
        if not alive(pid):
            return True
        await asyncio.sleep(0.02)
    return False


async def test_streams_apart_and_input_from_a_descriptor():
    out, err = FullBuffer(1000), FullBuffer(1000)
    fd = make_memory_file("in", b"hello")
    ended = await run_group(
        ["sh", "-c", "cat; echo no >&2; exit 4"],
        environment=PATH,
        timeout=10,
        out=out,
        err=err,
        stdin=fd,
    )
    os.close(fd)
    assert (ended.code, ended.why) == (4, "exit")
    assert (out.data(), err.data()) == (b"hello", b"no\n")


async def test_environment_is_exactly_what_was_given():
    out = FullBuffer(10_000)
    await run_group(["env"], environment={**PATH, "A": "b"}, timeout=10, out=out)
    assert sorted(out.data().split()) == [b"A=b", b"PATH=/usr/bin:/bin"]


async def test_time_out_ends_the_whole_group():
    out = FullBuffer(1000)
    ended = await run_group(
        ["sh", "-c", "sleep 60 & echo $!; wait"], environment=PATH, timeout=3, out=out
    )
    assert ended.why == "timeout"
    assert await wait_until_gone(int(out.data()))


async def test_a_background_child_that_holds_the_pipe_does_not_block_beyond_the_time_out():
    started = time.monotonic()
    out = FullBuffer(1000)
    ended = await run_group(
        ["sh", "-c", "sleep 600 & echo $!"], environment=PATH, timeout=3, out=out
    )
    assert ended.why == "timeout"
    assert time.monotonic() - started < 600
    assert await wait_until_gone(int(out.data()))


async def test_flood_is_stopped():
    kept = HeadTailBuffer(1000, flood=1_000_000)
    ended = await run_group(["yes"], environment=PATH, timeout=20, out=kept)
    assert ended.why == "output"
    assert len(kept.text()) < 1100


async def test_cancelling_leaves_nothing_behind():
    out = FullBuffer(1000)
    running = asyncio.create_task(
        run_group(["sh", "-c", "echo $$; sleep 60"], environment=PATH, timeout=50, out=out)
    )
    for _ in range(LOOKS):
        await asyncio.sleep(0.02)
        if out.data():
            break
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await wait_until_gone(int(out.data()))


async def test_descriptors_are_closed_again():
    before = descriptors()
    for _ in range(5):
        await run_group(
            ["true"], environment=PATH, timeout=10, out=FullBuffer(10), err=FullBuffer(10)
        )
    assert descriptors() <= before + 1


async def test_the_watch_ends_the_group_and_says_so():
    out = FullBuffer(1000)

    async def watch():
        while not out.data():
            await asyncio.sleep(0.01)

    ended = await run_group(
        ["sh", "-c", "sleep 60 & echo $!; wait"],
        environment=PATH,
        timeout=30,
        out=out,
        watch=watch,
    )
    assert (ended.code, ended.why) == (-9, "watch")
    assert await wait_until_gone(int(out.data()))


async def test_what_the_watch_raises_is_raised_when_the_group_has_ended():
    async def watch():
        await asyncio.sleep(0.2)
        raise TransientError("the disk is full")

    out = FullBuffer(1000)
    with pytest.raises(TransientError, match="the disk is full"):
        await run_group(
            ["sh", "-c", "echo $$; sleep 60"], environment=PATH, timeout=30, out=out, watch=watch
        )
    assert await wait_until_gone(int(out.data()))


async def test_a_watch_that_sees_nothing_costs_nothing():
    ended = await run_group(
        ["true"], environment=PATH, timeout=10, out=FullBuffer(10), watch=asyncio.Event().wait
    )
    assert (ended.code, ended.why) == (0, "exit")


async def test_kernels_that_do_not_tell_of_an_end_are_asked(monkeypatch):
    def refuse(pid):
        raise PermissionError

    monkeypatch.setattr(os, "pidfd_open", refuse)
    ended = await run_group(
        ["sh", "-c", "exit 5"], environment=PATH, timeout=10, out=FullBuffer(10)
    )
    assert ended.code == 5
    ended = await run_group(["sleep", "60"], environment=PATH, timeout=0.2, out=FullBuffer(10))
    assert (ended.code, ended.why) == (-9, "timeout")


async def test_no_room_for_another_process_heals_by_itself(monkeypatch):
    def full(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("app.sandbox.child_process.subprocess.Popen", full)
    with pytest.raises(TransientError, match="cannot start another process"):
        await run_group(["true"], environment=PATH, timeout=10, out=FullBuffer(10))
