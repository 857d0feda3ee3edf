"""The degraded sandbox holds all that it says, and names what it does not."""

import asyncio
import os
import subprocess
import time

import pytest

from agents.errors import ConfigError
from app.sandbox.escape_probe import ATTACKS
from app.sandbox.landlock import OLDEST, Landlock
from app.sandbox.port import Mount, OperatorLimits, ResourceLimits, SandboxCommand

UID = 58996


@pytest.fixture(scope="module")
def landlock():
    made = Landlock(UID)
    report = asyncio.run(made.probe())
    if report.probes[0].name == "the sandbox starts":  # what starts and does not hold has failed
        pytest.skip(f"no Landlock here: {report.cause}; {report.remedy}")
    return made


@pytest.fixture
def bash(landlock, open_folder):
    """Run a bash script with a /workspace of its own."""
    tree = open_folder / "tree"
    tree.mkdir()
    tree.chmod(0o777)

    async def run(script, *, writable=True, mounts=(), **options):
        mounts = (Mount(tree, "/workspace", writable), *mounts)
        return await landlock.run(SandboxCommand(("bash", "-c", script), mounts=mounts, **options))

    run.tree = tree
    return run


def alive(mark):
    """Tell whether any process has this in its command line."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return any(mark in line and "ps -eo" not in line for line in listed.stdout.splitlines())


async def test_every_attack_is_held_or_named(landlock):
    report = await landlock.probe()
    assert [probe for probe in report.probes if not probe.held] == []
    told = {probe.name for probe in report.probes} | set(landlock.not_held)
    assert set(ATTACKS) <= told
    for name in landlock.not_held:
        assert f"Does not hold: {name}." in report.notes
    assert report.probes[0].name == "the sandbox runs commands"


async def test_commands_work_where_they_believe_to_be(bash):
    result = await bash(
        "pwd; echo a >/workspace/f; cat f; echo b >/tmp/t; cat /tmp/t; echo $HOME $TMPDIR;"
        " cd /workspace && ls -d /workspace/*; echo x >/dev/stderr; echo y | cat <(cat)"
    )
    assert result.exit_code == 0
    assert result.output.split() == [
        *("/workspace", "a", "b", "/home/agent", "/tmp", "/workspace/f", "x", "y"),
    ]
    assert (bash.tree / "f").stat().st_uid == (UID if os.geteuid() == 0 else os.geteuid())


async def test_files_elsewhere_are_out_of_reach(bash, open_folder):
    (open_folder / "other").write_text("canary")
    (open_folder / "open").mkdir()
    (open_folder / "open").chmod(0o777)
    result = await bash(
        f"cat {open_folder}/other; touch {open_folder}/open/x; truncate -s 0 {open_folder}/other;"
        f" mv {bash.tree} {open_folder}/open/; ln -s {open_folder}/other l; cat l; cat /etc/shadow"
    )
    assert "canary" not in result.output
    assert (open_folder / "other").read_text() == "canary"
    assert not list((open_folder / "open").iterdir())


async def test_what_is_lent_for_reading_cannot_be_changed_in_any_way(bash):
    (bash.tree / "f").write_text("as it was")
    owner = (UID, UID) if os.geteuid() == 0 else (-1, -1)
    os.chown(bash.tree / "f", *owner)
    result = await bash(
        "echo x >f; echo x >>f; chmod 777 f; rm f; mv f g; touch new; mkdir d; ln f h;"
        " truncate -s 0 f; perl -e 'chmod 0777, \"f\"'; cat f",
        writable=False,
    )
    assert result.output.endswith("as it was")
    assert [path.name for path in bash.tree.iterdir()] == ["f"]
    assert (bash.tree / "f").stat().st_mode & 0o777 == 0o644


async def test_no_socket_of_any_kind(bash):
    families = "socket($s, $_, 1, 0) and print $_ for 1, 2, 10, 16, 17, 40"
    pair = 'socketpair($a, $b, 1, 1, 0) and print "pair"'
    assert (await bash(f"perl -e '{families}; {pair}'")).output == "pair"


async def test_nobody_else_can_be_signalled(bash):
    sleeper = subprocess.Popen(
        ["sleep", "30"], user=UID if os.geteuid() == 0 else None, start_new_session=True
    )
    try:
        result = await bash(f"kill -9 {sleeper.pid}; kill -9 -1; echo still here")
        assert "still here" in result.output
        await asyncio.sleep(0.05)
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


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
        ": fork-bomb; f() { f | f & }; f; sleep 5", timeout=0.5, limits=ResourceLimits(nproc=60)
    )
    assert result.why == "timeout"
    assert time.monotonic() - started < 10
    assert not alive("fork-bomb")


async def test_cancelled_means_gone(bash):
    mark = f"cancelled-{os.getpid()}"
    running = asyncio.create_task(bash(DAEMON.format(mark=mark) + "sleep 30"))
    for _ in range(200):
        await asyncio.sleep(0.02)
        if alive(mark):
            break
    assert alive(mark)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(mark)


async def test_exit_codes_and_missing_programs(bash, landlock):
    assert (await bash("exit 7")).exit_code == 7
    assert (await bash("no-such-program")).exit_code == 127
    result = await landlock.run(SandboxCommand(("no-such-program",), folder="/usr"))
    assert (result.exit_code, result.output) == (127, "no-such-program: not found\n")


async def test_the_disk_is_watched(open_folder):
    tree = open_folder / "tree"
    tree.mkdir()
    tree.chmod(0o777)
    small = Landlock(UID, bounds=OperatorLimits(disk=8 * 2**20, reserve=0))
    command = SandboxCommand(
        ("bash", "-c", "head -c 80M /dev/zero >big; sleep 20"),
        mounts=(Mount(tree, "/workspace", True),),
        timeout=15,
    )
    assert (await small.run(command)).why == "disk"


async def test_a_mount_below_what_an_agent_wrote_is_refused(landlock, bash, open_folder):
    await bash("ln -s /etc secret")
    with pytest.raises(ConfigError, match="could put a link there"):
        await landlock.run(
            SandboxCommand(("ls",), mounts=(Mount(bash.tree / "secret", "/workspace"),))
        )


async def test_a_kernel_that_holds_too_little_is_refused(landlock):
    old = Landlock(UID)
    old._abi = OLDEST - 1
    report = await old.probe()
    assert not report.held
    assert "Landlock version 3" in report.cause
    assert "newer kernel" in report.remedy
