"""A thread that is another user: what it starts is that user, and the rest of us is not."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from agents.errors import ConfigError
from app.sandbox.privilege_drop import UnprivilegedLauncher, _switch_user

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which becomes another user")

OWNER = (58999, 58998)


def run_lowered(lowered, *argv):
    process = lowered.start(argv, stdout=subprocess.PIPE, env={"PATH": os.defpath}, cwd="/")
    return process.communicate()[0].decode()


def fields(status):
    parts = (line.partition(":") for line in status.splitlines())
    return {name: rest.split() for name, _, rest in parts}


def test_what_it_starts_is_that_user_without_any_privilege():
    status = fields(run_lowered(UnprivilegedLauncher(OWNER), "cat", "/proc/self/status"))
    assert status["Uid"] == ["58999"] * 4
    assert status["Gid"] == ["58998"] * 4
    assert status["Groups"] == []
    assert status["NoNewPrivs"] == ["1"]
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name][0], 16) == 0, name


def test_the_rest_of_this_process_stays_who_it_is():
    before = Path("/proc/thread-self/status").read_text()
    run_lowered(UnprivilegedLauncher(OWNER), "true")
    after = fields(Path("/proc/thread-self/status").read_text())
    for name in ("Uid", "Gid", "Groups", "CapEff", "CapBnd", "NoNewPrivs"):
        assert after[name] == fields(before)[name], name


async def test_a_thread_for_other_work_is_not_that_user():
    run_lowered(UnprivilegedLauncher(OWNER), "true")
    assert await asyncio.to_thread(os.getresuid) == (0, 0, 0)


def test_the_user_cannot_look_into_this_process():
    """The thread shares our memory, which another process of that user must not get at."""
    lowered = UnprivilegedLauncher(OWNER)
    theirs = f"/proc/{os.getpid()}"
    run_lowered(lowered, "true")
    task = lowered._thread.submit(lambda: Path("/proc/thread-self").readlink().name).result()
    for path in (f"{theirs}/mem", f"{theirs}/environ", f"{theirs}/task/{task}/mem"):
        assert (
            run_lowered(lowered, "sh", "-c", f"head -c 1 {path} 2>/dev/null; echo $?") == "1\n"
        ), path


def test_there_is_no_way_back():
    lowered = UnprivilegedLauncher(OWNER)
    run_lowered(lowered, "true")
    with pytest.raises(PermissionError):
        lowered._thread.submit(_switch_user, 0, 0).result()


def test_one_that_may_not_change_its_user_starts_nothing(tmp_path):
    refused, lowered = UnprivilegedLauncher((58997, 58997)), UnprivilegedLauncher(OWNER)
    run_lowered(lowered, "true")
    refused._thread = lowered._thread  # which has lost what it needs for that
    with pytest.raises(ConfigError, match="CAP_SETUID") as caught:
        refused.start(["touch", str(tmp_path / "begun")])
    assert "\nRemedy: " in str(caught.value)
    assert list(tmp_path.iterdir()) == []
