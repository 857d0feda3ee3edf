"""Without a sandbox: another user, an end for everything, and a copy for whoever only reads."""

import asyncio
import os
import shutil
import subprocess
import time

import pytest

from agents.errors import ConfigError, RunError
from app.sandbox.none.backend import NoSandbox
from app.sandbox.none.file_copies import take_fingerprint
from app.sandbox.port import Mount, OperatorLimits, ResourceLimits, SandboxCommand
from tests.patience import LOOKS

UID = 58996


@pytest.fixture(scope="module")
def sandbox():
    return NoSandbox(UID)


@pytest.fixture
def tree(open_folder, sandbox):
    made = open_folder / "tree"
    made.mkdir()
    (made / "f").write_text("as it was\n")
    if os.geteuid() == 0:
        for path in (made, made / "f"):
            shutil.chown(path, *sandbox.owner)
    return made


@pytest.fixture
def bash(sandbox, tree):
    async def run(script, *, writable=True, **options):
        mounts = (Mount(tree, "/workspace", writable),)
        return await sandbox.run(SandboxCommand(("bash", "-c", script), mounts=mounts, **options))

    return run


async def test_the_probe_says_what_is_not_held(sandbox):
    report = await sandbox.probe()
    assert report.held
    assert {probe.name for probe in report.probes} >= set(sandbox.required)
    for attack in ("connect to a TCP port", "read a file of this machine", "see other processes"):
        assert f"Does not hold: {attack}." in report.notes


async def test_it_runs_as_somebody_else_with_nothing_of_ours(bash, sandbox, monkeypatch):
    monkeypatch.setenv("CANARY", "secret")
    result = await bash("id -u; env; cat /proc/self/status; echo new >>f; pwd")
    lines = result.output.splitlines()
    assert lines[0] == str(sandbox.owner[0])
    assert "NoNewPrivs:\t1" in lines
    assert "CANARY" not in result.output
    assert lines[-1] == "/workspace"


async def test_commands_work_where_they_believe_to_be(bash):
    result = await bash(
        "pwd; echo a >/workspace/g; cat g; echo b >/tmp/t; cat /tmp/t; echo $HOME $TMPDIR;"
        " cd /workspace && ls -d /workspace/*; echo x >/dev/stderr; echo y | cat <(cat)"
    )
    assert result.exit_code == 0
    assert result.output.split() == [
        *("/workspace", "a", "b", "/home/agent", "/tmp", "/workspace/f", "/workspace/g", "x", "y"),
    ]


def alive(mark):
    """Tell whether any process has this in its command line."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return any(mark in line and "ps -eo" not in line for line in listed.stdout.splitlines())


def is_daemon_there(mark):
    """Tell whether the process itself has begun: shells on the way to it name it, and go."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return any(line.startswith(f"{mark} ") for line in listed.stdout.splitlines())


DAEMON = "(setsid bash -c 'exec -a {mark} sleep 60' </dev/null >/dev/null 2>&1 &) ; "


@pytest.mark.parametrize(
    ("script", "options", "why"),
    [
        ("sleep 0.1; exit 3", {}, "exit"),
        ("sleep 30", {"timeout": 0.5}, "timeout"),
        ("sleep 0.1; yes", {}, "output"),
        ("sleep 0.1; kill -9 $$", {}, "killed"),
    ],
)
async def test_a_daemon_in_a_session_of_its_own_dies_with_the_command(bash, script, options, why):
    mark = f"daemon-of-{why}-{os.getpid()}"
    result = await bash(DAEMON.format(mark=mark) * 2 + script, **options)
    assert result.why == why
    assert not alive(mark)


async def test_a_fork_bomb_comes_to_rest_and_to_its_end(bash):
    started = time.monotonic()
    result = await bash(
        ": fork-bomb; f() { f | f & }; f; sleep 600", timeout=0.5, limits=ResourceLimits(nproc=60)
    )
    assert result.why == "timeout"
    assert time.monotonic() - started < 600
    assert not alive("fork-bomb")


async def test_cancelled_means_gone(bash):
    mark = f"cancelled-{os.getpid()}"
    running = asyncio.create_task(bash(DAEMON.format(mark=mark) + "sleep 30"))
    for _ in range(LOOKS):
        await asyncio.sleep(0.02)
        if is_daemon_there(mark):
            break
    assert is_daemon_there(mark)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(mark)


async def test_exit_codes_and_missing_programs(bash, sandbox):
    assert (await bash("exit 7")).exit_code == 7
    assert (await bash("no-such-program")).exit_code == 127
    result = await sandbox.run(SandboxCommand(("no-such-program",), folder="/usr"))
    assert (result.exit_code, result.output) == (127, "no-such-program: not found\n")


async def test_the_disk_is_watched(tree):
    small = NoSandbox(UID, bounds=OperatorLimits(disk=8 * 2**20, reserve=0))
    command = SandboxCommand(
        ("bash", "-c", "head -c 80M /dev/zero >big; sleep 20"),
        mounts=(Mount(tree, "/workspace", True),),
        timeout=15,
    )
    assert (await small.run(command)).why == "disk"


async def test_a_mount_below_what_an_agent_wrote_is_refused(sandbox, bash, tree):
    await bash("ln -s /etc secret")
    with pytest.raises(ConfigError, match="could put a link there"):
        await sandbox.run(SandboxCommand(("ls",), mounts=(Mount(tree / "secret", "/workspace"),)))


async def test_what_only_reads_works_on_a_copy(bash, tree):
    before = take_fingerprint(tree)
    result = await bash("echo more >>f; touch cache; chmod 700 f; cat f; ls", writable=False)
    assert (result.exit_code, result.output) == (0, "as it was\nmore\ncache\nf\n")
    assert take_fingerprint(tree) == before


@pytest.mark.parametrize(
    "act",
    ["touch .{0}/new", "echo x >.{0}/f", "chmod 700 .{0}/f", "rm .{0}/f"],
)
async def test_a_reader_that_finds_the_files_all_the_same_ends_the_run(bash, tree, act):
    with pytest.raises(RunError, match="may only read"):
        await bash(f"cd /; {act.format(tree)}", writable=False)


async def test_the_same_size_and_time_do_not_hide_a_change(tree):
    before = take_fingerprint(tree)
    status = (tree / "f").stat()
    await asyncio.sleep(0.02)
    (tree / "f").write_text("AS IT WAS\n")
    os.utime(tree / "f", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert take_fingerprint(tree) != before
