"""The probe sees every attack that works, and its refusal says what to do."""

import asyncio
import os

import pytest

from agents.errors import ConfigError
from agents.ports import CommandResult
from app.sandbox import escape_probe as probe
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.bubblewrap.errors import diagnose
from app.sandbox.port import Probe, ProbeReport


class NoSandbox:
    """Runs the attacker with no hold at all, in the folder that it may write."""

    name, level = "none", "none"

    def __init__(self):
        self.owner = (os.geteuid(), os.getegid())

    async def run(self, command):
        process = await asyncio.create_subprocess_exec(
            *command.argv,
            cwd=command.mounts[0].source,
            env={"PATH": "/usr/bin:/bin", "SECRET": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        return CommandResult(process.returncode, "exit", output.decode(), 0.0)


class BrokenSandbox(NoSandbox):
    """Starts nothing and says why, or claims success without having done anything."""

    def __init__(self, output, error=None):
        super().__init__()
        self.output, self.error = output, error

    async def run(self, command):
        if self.error:
            raise self.error
        return CommandResult(0, "exit", self.output, 0.0)


async def test_bubblewrap_holds(sandbox):
    report = await probe.attack(sandbox)
    assert report.held, report
    assert len(report.probes) == len(probe.ATTACKS) + 4
    report.require()


async def test_everything_that_a_sandbox_must_withstand_is_tried(sandbox):
    """What is to be tried, and under which name a person reads of it."""
    tried = {p.name for p in (await sandbox.probe()).probes}
    assert tried >= {
        "write outside the work tree",
        "read a file of this machine",  # a planted canary
        "read our environment",
        "connect to a TCP port",
        "connect to an abstract socket",
        "connect to a socket file",
        "send to a UDP port",
        "reach a virtual machine host",  # AF_VSOCK
        "make a user namespace",
        "change a kernel setting",  # core_pattern
        "see our processes",
        "start more processes than allowed",
    }


async def test_the_report_says_by_what_limits_are_held(sandbox):
    note, disk, users = (await sandbox.probe()).notes
    assert note.startswith("Limits are held by ")
    assert disk.startswith("Each run may fill 10240 MB with 1000000 files.")
    assert users.startswith(("Each run at work is a user of its own", "All runs are one user"))


async def test_the_report_is_kept(sandbox):
    assert await sandbox.probe() is await sandbox.probe()


async def test_every_attack_that_can_work_without_a_sandbox_is_seen():
    report = await probe.attack(NoSandbox())
    missed = {p.name for p in report.probes if p.held}
    # Some kernels refuse these to everybody; an ordinary user also fails at the kernel's settings.
    excused = {
        "the sandbox runs commands",
        "reach a virtual machine host",
        "use io_uring",
        "make a user namespace",
        *(() if os.geteuid() == 0 else ("change a kernel setting", "runs as an ordinary user")),
        *(() if os.geteuid() == 0 else ("start more processes than allowed",)),
    }
    assert missed <= excused
    assert not report.held


async def test_success_without_deeds_is_no_proof():
    report = await probe.attack(BrokenSandbox("all good\n"))
    assert not report.held
    assert not report.probes[0].held


async def test_refusal_names_backend_probe_cause_and_remedy():
    error = ConfigError("x: No permissions to create\nLikely cause: seccomp\nRemedy: do this")
    report = await probe.attack(BrokenSandbox("", error))
    with pytest.raises(ConfigError) as caught:
        report.require()
    text = str(caught.value)
    assert "`none`" in text
    assert "the sandbox starts" in text
    assert "seccomp" in text
    assert "Remedy: do this" in text


async def test_a_missing_perl_is_named():
    report = await probe.attack(BrokenSandbox("perl: command not found\n"))
    with pytest.raises(ConfigError, match="apt-get install perl-base"):
        report.require()


def test_one_failed_probe_is_enough():
    report = ProbeReport(
        "b", (Probe("x", held=True), Probe("y", held=False, detail="why")), "c", "r"
    )
    with pytest.raises(ConfigError, match=r"y \(why\)"):
        report.require()
    with pytest.raises(ConfigError):
        ProbeReport("b", ()).require()


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("bwrap: No permissions to creating new namespace, likely because", "seccomp"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor"),
        ("bwrap: setting up uid map: Permission denied", "AppArmor"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "masked"),
        ("bwrap: Failed to make / slave: Permission denied", "docker-default"),
        ("bwrap: Unknown option --disable-userns", "older"),
        ("something else", "unknown"),
    ],
)
def test_causes(said, cause):
    assert cause in diagnose(said)[0]


async def test_a_missing_program_is_named(monkeypatch):
    monkeypatch.setattr("app.sandbox.bubblewrap.backend._SYSTEM_PATH", "/nonexistent")
    report = await Bubblewrap(58999).probe()
    with pytest.raises(ConfigError, match=r"apt-get install bubblewrap"):
        report.require()
