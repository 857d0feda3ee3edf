"""Every trap found in bubblewrap and around it, once: each test is named after its trap."""

import asyncio
import os
import signal
import stat
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from agents.errors import ConfigError
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.bubblewrap.errors import diagnose
from app.sandbox.port import Mount

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which drops to another user")


# --- clearenv, command lines ----------------------------------------------------------------------


async def test_clearenv_does_not_hide_our_environment_from_proc(bash, monkeypatch):
    monkeypatch.setenv("PLANTED_SECRET", "canary-4711")
    result = await bash("cat /proc/*/environ; env")
    assert "PATH=" in result.output
    assert "canary-4711" not in result.output
    assert "PLANTED_SECRET" not in result.output


async def test_bwraps_options_are_on_its_command_line(bash, open_folder):
    result = await bash("tr '\\0' ' ' </proc/1/cmdline; ps axww 2>/dev/null")
    assert "bwrap --args" in result.output
    assert str(open_folder) not in result.output


# --- root -----------------------------------------------------------------------------------------


@as_root
async def test_bwrap_as_root_keeps_all_capabilities(bash, sandbox, started):
    mark = "71.0417"
    running_command = asyncio.create_task(bash(f"sleep {mark}; true", timeout=60))
    while not (sleeping := [p for p in await started(mark) if _words(p)[0] == "sleep"]):
        await asyncio.sleep(0.02)
    (inside,) = sleeping
    chain = list(_ancestors(inside))
    running_command.cancel()
    with suppress(asyncio.CancelledError):
        await running_command
    assert "bwrap" in chain[-1]["Name"]
    for process in chain:
        assert set(process["Uid"].split()) == {str(sandbox.owner[0])}
        assert set(process["Gid"].split()) == {str(sandbox.owner[1])}
        assert process["Groups"].split() == []
        assert process["NoNewPrivs"] == "1"
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(process[name], 16) == 0, name


async def test_the_root_of_the_machine_could_be_remounted(bash):
    result = await bash(
        "mount -o remount,bind,rw /usr; mount -o remount,rw /; touch /usr/fettle-trap"
    )
    assert result.exit_code != 0
    assert not Path("/usr/fettle-trap").exists()


async def test_core_pattern_could_be_opened_without_any_capability(bash):
    result = await bash(
        "for f in kernel/core_pattern vm/drop_caches; do"
        " (echo 1 >>/proc/sys/$f) 2>/dev/null && echo $f; done; true"
    )
    assert result.output == ""


async def test_user_namespaces_could_be_nested(bash):
    assert (await bash("unshare -U true")).exit_code != 0
    assert (await bash("unshare -Ur true")).exit_code != 0


# --- how it dies ----------------------------------------------------------------------------------


async def test_die_with_parent_means_the_thread_that_started_it(bash):
    """Other threads come and go while a command runs; the one that started it stays."""
    running_command = asyncio.create_task(bash("sleep 0.6; echo done", timeout=20))
    for _ in range(10):
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        await asyncio.to_thread(lambda: None)
        await asyncio.sleep(0.05)
    result = await running_command
    assert (result.why, result.output) == ("exit", "done\n")


def fettle_running(mark, uid):
    """Start another Fettle whose sandboxed command carries the mark."""
    program = (
        "import asyncio\n"
        "from app.sandbox.port import SandboxCommand\n"
        "from app.sandbox.bubblewrap.backend import Bubblewrap\n"
        f"sandbox, command = Bubblewrap({uid}), SandboxCommand(('sleep', '{mark}'), folder='/')\n"
        "print('ready', flush=True)\n"
        "asyncio.run(sandbox.run(command))\n"
    )
    return asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=Path(__file__).parents[4], stdout=asyncio.subprocess.PIPE
    )


async def test_what_was_started_could_outlive_a_killed_fettle(sandbox, started, none_left):
    mark = "64.0417"
    fettle = await fettle_running(mark, sandbox.owner[0])
    await fettle.stdout.readline()
    await started(mark)
    await asyncio.sleep(0.1)
    fettle.send_signal(signal.SIGKILL)
    await fettle.communicate()
    assert await none_left(mark)


async def test_what_is_being_set_up_could_outlive_a_killed_fettle(sandbox, none_left):
    mark = "65.0417"
    fettles = [await fettle_running(mark, sandbox.owner[0]) for _ in range(5)]
    for at, fettle in enumerate(fettles):
        await fettle.stdout.readline()
        await asyncio.sleep(0.003 * (at + 1))
        fettle.send_signal(signal.SIGKILL)
        await fettle.communicate()
    assert await none_left(mark)


async def test_ending_the_outer_bwrap_could_leave_the_inner_processes(bash, started, none_left):
    mark = "66.0417"
    running_command = asyncio.create_task(bash(f"sleep {mark}; true", timeout=60))
    *_, outer = _ancestors((await started(mark))[-1])
    os.kill(int(outer["Pid"]), signal.SIGKILL)
    assert (await running_command).why == "killed"
    assert await none_left(mark)


async def test_a_background_child_could_hold_the_output_open(bash, none_left):
    mark = "62.0417"
    result = await bash(f"sleep {mark} & setsid sleep {mark} & echo hi", timeout=30)
    assert (result.output, result.why) == ("hi\n", "exit")
    assert await none_left(mark)


async def test_output_could_be_without_end(bash):
    result = await bash("echo first; yes", timeout=30, max_output=1000)
    assert result.why == "output"
    assert result.output.startswith("first\ny\n")
    assert "bytes left out" in result.output
    assert len(result.output) < 1100


# --- what namespaces do not cover -----------------------------------------------------------------


async def test_a_read_only_mount_does_not_stop_connecting_to_a_socket(bash):
    """So there is none: in no place that every sandbox sees, and none of the machine's."""
    result = await bash(
        "(find / -xdev -type s; find /usr /run /etc /dev -type s; ls -A /run) 2>/dev/null"
    )
    assert result.output.split() == []


CALLS = {
    "x86_64": {"keyctl": 250, "add_key": 248, "userfaultfd": 323, "bpf": 321, "setns": 308},
    "aarch64": {"keyctl": 219, "add_key": 217, "userfaultfd": 282, "bpf": 280, "setns": 268},
}
EVERYWHERE = {"io_uring_setup": 425, "io_uring_enter": 426, "open_tree": 428, "pidfd_getfd": 438}


@pytest.mark.parametrize(
    ("call", "number"), [*CALLS[os.uname().machine].items(), *EVERYWHERE.items()]
)
async def test_kernel_calls_reach_past_the_namespaces(bash, call, number):
    result = await bash(f"exec perl -e '$! = 0; syscall({number}, 0, 0, 0, 0, 0); print $! + 0'")
    assert result.output == "1", call  # EPERM, whatever the arguments


async def test_vsock_and_raw_families_reach_past_the_network_namespace(bash):
    script = (
        "for my $f (40, 38, 17, 31) { socket(my $s, $f, 1, 0) ? print $f : print $! + 0, q( ) }"
    )
    assert (await bash(f"exec perl -e '{script}'")).output == "97 97 97 97 "  # EAFNOSUPPORT


# --- what an agent leaves behind ------------------------------------------------------------------


async def test_a_folder_below_an_agents_could_be_swapped_for_a_link(bash, open_folder):
    (open_folder / "tree" / "sub").mkdir()
    await bash("true")
    for place in ("sub", "sub/deeper"):
        with pytest.raises(ConfigError, match="could put a link there"):
            await bash("true", mounts=(Mount(open_folder / "tree" / place, "/data"),))


@as_root
async def test_nor_is_it_mounted_when_an_earlier_fettle_let_it_be_written(
    bash, open_folder, sandbox
):
    (open_folder / "old" / "sub").mkdir(parents=True)
    os.chown(open_folder / "old", *sandbox.owner)
    with pytest.raises(ConfigError, match="could put a link there"):
        await bash("true", mounts=(Mount(open_folder / "old" / "sub", "/data"),))
    await bash("true", mounts=(Mount(open_folder / "old", "/data"),))


async def test_bwrap_leaves_ghosts_where_it_mounts(bash, open_folder, sandbox):
    tree, other, file = open_folder / "tree", open_folder / "other", open_folder / "file"
    other.mkdir()
    file.write_text("content")
    mounts = (Mount(other, "/workspace/.git"), Mount(file, "/workspace/etc/file"))
    result = await bash("ls -A .git; cat etc/file", mounts=mounts)
    assert result.output == "content"
    assert sorted(p.name for p in tree.rglob("*")) == [".git", "etc", "file"]
    for ghost in tree.rglob("*"):
        assert ghost.lstat().st_uid == sandbox.owner[0]
        assert stat.S_ISREG(ghost.lstat().st_mode) or ghost.is_dir()


@pytest.mark.parametrize("swapped", ["/usr/share", "sub", "/oldroot/tmp", "a file"])
async def test_bwrap_mounts_through_a_link(bash, open_folder, swapped):
    tree, other = open_folder / "tree", open_folder / "other"
    other.mkdir()
    (other / "mine").write_text("")
    (tree / "sub").mkdir()
    if swapped == "a file":
        (tree / ".git").write_text("gitdir: /elsewhere")
    else:
        (tree / ".git").symlink_to(swapped)
    result = await bash("ls .git; ls sub", mounts=(Mount(other, "/workspace/.git"),))
    assert result.output == "mine\n"
    assert not (tree / ".git").is_symlink()
    assert (tree / "sub").is_dir()


SET_ID = """
my ($plain, $two, $made, $null, $fifo) = qw(plain two made null fifo);
my $how = pack('QQQ', 0102, 04755, 0);
sub told { my ($name, $done) = @_; print "$name ", ($done ? "done" : $! + 0), "\\n" }
open(my $f, '>', 'plain'); close $f;
told('chmod', chmod(04755, 'plain'));
told('setgid', chmod(02755, 'plain'));
open($f, '<', 'plain');
told('fchmod', chmod(04755, $f));
told('fchmodat2', syscall(452, -100, $plain, 04755, 0) == 0);
use Fcntl;
told('open', sysopen(my $g, 'opened', O_CREAT | O_RDWR, 04755));
told('tmpfile', sysopen(my $h, '.', 0x410000 | O_RDWR, 04755));
told('openat2', syscall(437, -100, $two, $how, 24) >= 0);
told('mknod', syscall(MKNODAT, -100, $made, 0104755, 0) == 0);
told('device', syscall(MKNODAT, -100, $null, 020666, 0x103) == 0);
told('ordinary', chmod(01755, 'plain'));
told('new', sysopen(my $i, 'new', O_CREAT | O_RDWR, 0755));
told('fifo', syscall(MKNODAT, -100, $fifo, 010644, 0) == 0);
"""


async def test_set_user_id_files_and_devices_could_stay_behind(bash, open_folder):
    mknodat = {"x86_64": "259", "aarch64": "33"}[os.uname().machine]
    script = SET_ID.replace("MKNODAT", mknodat)
    (open_folder / "tree" / "script").write_text(script)
    result = await bash("exec perl script")
    told = dict(line.split() for line in result.output.splitlines())
    allowed = {name for name, said in told.items() if said == "done"}
    assert allowed == {"ordinary", "new", "fifo"}
    assert {told["chmod"], told["open"], told["mknod"], told["device"]} == {"1"}
    for path in (open_folder / "tree").rglob("*"):
        mode = path.lstat().st_mode
        assert not mode & (stat.S_ISUID | stat.S_ISGID), path
        assert not stat.S_ISBLK(mode), path
        assert not stat.S_ISCHR(mode), path


async def test_modes_of_ordinary_files_are_kept_by_the_usual_programs(bash, open_folder):
    script = (
        "set -e; mkdir a; echo '#!/bin/sh' >a/run; chmod 755 a/run; chmod 600 a; chmod 755 a;"
        "ln -s run a/link; tar cf a.tar a; mkdir b; tar xpf a.tar -C b; cp -a a c; install -m 755"
        " a/run d; git init -q e; cp a/run e; git -C e add .; git -C e -c user.name=n"
        " -c user.email=e commit -qm x; mv e f; rm -r f; mktemp -p . >/dev/null; echo fine"
    )
    result = await bash(script)
    assert result.output == "fine\n"
    assert stat.S_IMODE((open_folder / "tree" / "b" / "a" / "run").stat().st_mode) == 0o755


# --- where it is deployed -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "cause", "remedy"),
    [
        (
            "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
            "ProtectKernelTunables",
            "systempaths=unconfined",
        ),
        (
            "bwrap: No permissions to create new namespace, likely because the kernel does not al",
            "seccomp profile",
            "seccomp=",
        ),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor", "userns,"),
        ("bwrap: setting up uid map: Permission denied", "AppArmor", "userns,"),
        ("bwrap: Failed to make / slave: Permission denied", "docker-default", "apparmor="),
        ("bwrap: pivot_root: Operation not permitted", "root cannot be replaced", "cap-drop"),
        (
            "bwrap: Creating new namespace failed: No space left on device",
            "used up",
            "max_user_namespaces",
        ),
    ],
)
def test_deployments_that_refuse_it_are_recognised(said, cause, remedy):
    assert cause in diagnose(said)[0]
    assert remedy in diagnose(said)[1]


def test_the_root_user_is_refused():
    with pytest.raises(ConfigError, match="FETTLE_SANDBOX_UID"):
        Bubblewrap(0)


# --- what the tests look with ---------------------------------------------------------------------


def _words(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")


def _ancestors(pid):
    """Yield the status of a process and of those above it, up to and with the outer bwrap."""
    while pid != os.getpid():
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        status = {name: rest.strip() for name, _, rest in (line.partition(":") for line in lines)}
        pid = int(status["PPid"])
        yield status
