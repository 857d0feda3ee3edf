"""A program in the sandbox that is spoken to: who it is, what it may say, how it ends."""

import asyncio
import os
from pathlib import Path

import pytest

from app.sandbox.bubblewrap.stdio_session import open_session
from app.sandbox.port import ResourceLimits, SandboxCommand
from tests.patience import PATIENCE


def program(*argv, **options):
    return SandboxCommand(argv, folder="/", **options)


async def test_lines_go_in_and_come_out(sandbox):
    async with open_session(sandbox, program("cat")) as cat:
        await cat.send(b"one")
        await cat.send(b"two")
        lines = cat.read_lines()
        assert [await anext(lines), await anext(lines)] == [b"one", b"two"]


async def test_it_is_held_by_limits_and_a_user_like_any_command(sandbox):
    shown = program("bash", "-c", "id -u; ulimit -n; cat", limits=ResourceLimits(nofile=77))
    async with open_session(sandbox, shown) as shell:
        lines = shell.read_lines()
        assert [await anext(lines), await anext(lines)] == [b"1000", b"77"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which drops to another user")
async def test_outside_it_is_the_sandboxs_user(sandbox, started):
    mark = "67.0417"
    async with open_session(sandbox, program("sleep", mark)):
        for pid in await started(mark):
            assert Path(f"/proc/{pid}").stat().st_uid == sandbox.owner[0]


async def test_at_the_end_nothing_is_left(sandbox, started, running):
    mark = "68.0417"
    async with open_session(sandbox, program("sh", "-c", f"sleep {mark} & sleep {mark}; true")):
        await started(mark)
    assert running(mark) == []


async def _send_for_ever(one):
    while True:  # it is told only once the last process that could have read it is gone
        await one.send(b"still there?")
        await asyncio.sleep(0.01)


async def test_its_end_is_the_end_of_its_lines(sandbox):
    async with open_session(sandbox, program("echo", "bye")) as one:
        assert [line async for line in one.read_lines()] == [b"bye"]
        with pytest.raises(OSError, match="pipe"):
            await _send_for_ever(one)


async def test_nobody_has_to_hear_more_than_can_be_kept(sandbox):
    floods = program("sh", "-c", "yes | head -c 1000000; sleep 3600")
    async with open_session(sandbox, floods, longest=1000) as much:
        async with asyncio.timeout(PATIENCE):
            heard = [line async for line in much.read_lines()]
    assert set(heard) <= {b"y", b""}


async def test_what_does_not_start_says_why(sandbox, open_folder):
    with pytest.raises(OSError, match="nowhere"):
        async with open_session(sandbox, SandboxCommand(("true",), folder="/nowhere")):
            pass
