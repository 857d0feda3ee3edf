"""What a command in bubblewrap sees, who it is, how it ends, and what an operator reads."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from agents.errors import ConfigError
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.port import Mount, SandboxCommand
from tests.patience import LOOKS

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which drops to another user")


# --- what it sees ---------------------------------------------------------------------------------


async def test_the_environment_is_small_and_known(bash):
    result = await bash("env", environment={"EXTRA": "1"})
    names = {line.partition("=")[0] for line in result.output.split("\n")} - {
        "PWD",
        "SHLVL",
        "_",
        "",
    }
    known = {"PATH", "HOME", "USER", "LANG", "CI", "TMPDIR", "PYTHONDONTWRITEBYTECODE"}
    assert names == known | {"GIT_CONFIG_NOSYSTEM", "JAVA_TOOL_OPTIONS", "EXTRA"}


async def test_only_its_own_processes_exist(bash):
    result = await bash("ls -d /proc/[0-9]* | wc -l")
    assert int(result.output) <= 5


async def test_no_descriptor_of_ours_is_open(bash):
    result = await bash("ls /proc/self/fd /proc/1/fd 2>/dev/null | sort -n | tail -1")
    assert int(result.output) <= 4


async def test_etc_is_made_up(bash):
    result = await bash("cat /etc/passwd /etc/hosts; id; hostname; getent hosts localhost; ls /etc")
    assert "uid=1000(agent) gid=1000(agent) groups=1000(agent)" in result.output
    assert "shadow" not in result.output
    assert socket.gethostname() not in result.output.split()


async def test_there_is_no_network(bash):
    result = await bash(
        "cat /proc/net/dev | tail -n +3 | cut -d: -f1; cat /proc/net/route | tail -n +2;"
        "exec 3<>/dev/tcp/127.0.0.1/22 && echo open"
    )
    assert result.output.split("\n")[0].strip() == "lo"
    assert "open" not in result.output.split()


async def test_only_its_folder_and_fresh_memory_can_be_written(bash):
    result = await bash(
        "for d in / /usr /usr/bin /etc /proc/sys/kernel /home /workspace /tmp /run /dev/shm $HOME;"
        'do touch "$d/x" 2>/dev/null && echo "$d"; done; mount | grep -vc nosuid'
    )
    *written, without_nosuid = result.output.split()
    assert written == ["/workspace", "/tmp", "/run", "/dev/shm", "/home/agent"]
    assert without_nosuid == "0"


async def test_fresh_memory_is_bounded_and_does_not_outlive_the_command(bash):
    full = await bash("head -c 400M /dev/zero >/tmp/big; stat -c %s /tmp/big")
    assert "No space left" in full.output
    assert (await bash("ls -A /tmp /run $HOME /dev/shm | grep -v :")).output.strip() == ""


async def test_mounts_are_read_only_unless_asked_for(bash, open_folder):
    (open_folder / "data").mkdir()
    (open_folder / "data").chmod(0o777)
    fixed = Mount(open_folder / "data", "/data")
    assert "Read-only" in (await bash("touch /data/x", mounts=(fixed,))).output
    open_for_writing = Mount(open_folder / "data", "/data", writable=True)
    assert (await bash("touch /data/x", mounts=(open_for_writing,))).exit_code == 0
    assert (open_folder / "data" / "x").exists()


async def test_toolchains_come_first_and_are_read_only(open_folder, sandbox):
    tool = open_folder / "kit" / "bin" / "git"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho from the kit\n")
    tool.chmod(0o755)
    kitted = Bubblewrap(sandbox.owner[0], (open_folder / "kit",))
    command = SandboxCommand(("sh", "-c", f"git; (echo >{tool.parent}/x) 2>&1"), folder="/")
    result = await kitted.run(command)
    assert result.output.startswith("from the kit\n")
    assert "Read-only" in result.output


async def test_a_toolchain_inside_of_a_mounted_folder_is_not_hidden(open_folder, sandbox):
    outer = open_folder / "outer"
    tool = outer / "kit" / "bin" / "git"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho from the kit\n")
    tool.chmod(0o755)
    (open_folder / "other" / "kit").mkdir(parents=True)
    mount = Mount(open_folder / "other", str(outer), writable=True)
    kitted = Bubblewrap(sandbox.owner[0], (outer / "kit",))
    result = await kitted.run(SandboxCommand(("git",), folder="/", mounts=(mount,)))
    assert result.output == "from the kit\n"


# --- who it is ------------------------------------------------------------------------------------


async def test_a_toolchain_below_tmp_is_seen_in_a_tmp_of_the_runs_own(
    open_folder, sandbox, request
):
    """And a link that an agent left in its place leads nowhere."""
    below = Path(tempfile.mkdtemp(prefix="fettle-test-", dir="/tmp"))
    request.addfinalizer(lambda: shutil.rmtree(below))
    below.chmod(0o755)
    tool, own = below / "toolchain", open_folder / "own"
    (tool / "bin").mkdir(parents=True)
    (tool / "bin" / "greet").write_text("#!/bin/sh\necho hello\n")
    (tool / "bin" / "greet").chmod(0o755)
    (own / "elsewhere").mkdir(parents=True)
    (own / tool.parent.name).symlink_to("/etc")
    if os.geteuid() == 0:
        os.chown(own, *sandbox.owner)
    made = Bubblewrap(58999, (tool,))
    mounts = (Mount(own, "/tmp", writable=True),)
    result = await made.run(SandboxCommand(("greet",), "/", mounts=mounts))
    assert result.output == "hello\n"
    assert not (own / tool.parent.name).is_symlink()


async def test_files_belong_to_the_sandboxs_user(bash, open_folder, sandbox):
    await bash("touch mine")
    status = (open_folder / "tree" / "mine").stat()
    assert (status.st_uid, status.st_gid) == sandbox.owner
    assert status.st_uid != 0


async def test_privileges_cannot_be_gained(bash):
    result = await bash(
        "grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status; grep core.file /proc/self/limits"
    )
    assert "NoNewPrivs:\t1" in result.output
    assert "CapEff:\t0000000000000000" in result.output
    assert result.output.split("Max core file size")[1].split()[:2] == ["0", "0"]


# --- how it ends ----------------------------------------------------------------------------------


async def test_exit_codes_come_through(bash):
    result = await bash("echo out; echo err >&2; exit 7")
    assert (result.exit_code, result.why, result.output) == (7, "exit", "out\nerr\n")


async def test_an_unknown_program_is_the_callers_mistake(sandbox):
    result = await sandbox.run(SandboxCommand(("no-such-program",), folder="/"))
    assert (result.exit_code, result.why) == (127, "exit")
    assert "no-such-program" in result.output


async def test_time_out_ends_everything_inside(bash, none_left):
    started = time.monotonic()
    mark = "61.0417"
    result = await bash(f"setsid nohup sleep {mark} & (sleep {mark} &) ; sleep {mark}", timeout=0.6)
    assert (result.exit_code, result.why) == (124, "timeout")
    assert time.monotonic() - started < float(mark)
    assert await none_left(mark)


async def test_cancelling_ends_the_sandbox(bash, running, none_left):
    mark = "63.0417"
    running_command = asyncio.create_task(bash(f"sleep {mark}", timeout=60))
    for _ in range(LOOKS):
        await asyncio.sleep(0.02)
        if running(mark):
            break
    running_command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running_command
    assert await none_left(mark)


async def test_twenty_at_once(sandbox):
    command = SandboxCommand(("sleep", "0.1"), folder="/")
    results = await asyncio.gather(*(sandbox.run(command) for _ in range(20)))
    assert {result.exit_code for result in results} == {0}


# --- what an operator reads -----------------------------------------------------------------------


@as_root
async def test_a_closed_folder_is_named_with_its_remedy(bash, open_folder):
    (open_folder / "home" / "data").mkdir(parents=True)
    (open_folder / "home").chmod(0o700)
    with pytest.raises(ConfigError) as caught:
        await bash("true", mounts=(Mount(open_folder / "home" / "data", "/data"),))
    assert f"may not enter `{open_folder / 'home'}`" in str(caught.value)
    assert f"chmod o+x {open_folder / 'home'}" in str(caught.value)


async def test_a_missing_mount_is_named(bash, open_folder):
    with pytest.raises(ConfigError, match="which is not there"):
        await bash("true", mounts=(Mount(open_folder / "gone", "/data"),))


@as_root
async def test_a_closed_toolchain_is_found_before_any_run(open_folder, sandbox):
    (open_folder / "kit").mkdir()
    (open_folder / "kit").chmod(0o700)
    with pytest.raises(ConfigError, match="may not enter"):
        await Bubblewrap(sandbox.owner[0], (open_folder / "kit",)).probe()


async def test_a_virtual_environment_without_its_interpreter_is_found(open_folder, sandbox):
    kit, elsewhere = open_folder / "kit" / "bin", open_folder / "elsewhere" / "bin"
    kit.mkdir(parents=True)
    elsewhere.mkdir(parents=True)
    (elsewhere / "python3").write_text("")
    (kit / "python").symlink_to(elsewhere / "python3")
    with pytest.raises(ConfigError, match="FETTLE_TOOLCHAINS"):
        await Bubblewrap(sandbox.owner[0], (kit.parent,)).probe()


def test_the_command_line_says_nothing(sandbox):
    command = SandboxCommand(("true", "x"), mounts=(Mount(Path("/srv/secret"), "/data"),))
    with sandbox._build_argv(command) as (argv, fds):
        assert "/srv/secret" not in " ".join(argv)
        assert argv[-4:] == [argv[-4], "--args", str(fds[-1]), "--"]
        options = os.pread(fds[-1], 100_000, 0).split(b"\0")
    for needed in ("--unshare-net", "--unshare-pid", "--unshare-user", "--disable-userns"):
        assert needed.encode() in options
    for needed in ("--die-with-parent", "--new-session", "--clearenv", "--seccomp"):
        assert needed.encode() in options


@as_root
def test_an_ordinary_user_needs_no_drop():
    program = (
        "import asyncio\n"
        "from app.sandbox.port import SandboxCommand\n"
        "from app.sandbox.bubblewrap.backend import Bubblewrap\n"
        "made = Bubblewrap(58999)\n"
        "print(made.owner[0], asyncio.run(made.probe()).held)\n"
    )
    root = Path(__file__).parents[4]
    python = "/usr/bin/python3"
    done = subprocess.run(
        ["setpriv", "--reuid=58998", "--regid=58998", "--clear-groups", python, "-c", program],
        cwd=root,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{root}:{_site_packages()}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ModuleNotFoundError" in done.stderr or "Permission" in done.stderr:
        pytest.skip(f"{python} cannot use this environment's packages as another user")
    assert done.stdout.split() == ["58998", "True"], done.stderr


def _site_packages():
    return next(path for path in sys.path if path.endswith("site-packages"))
