"""Without a sandbox: another user, an end for everything, and a copy for whoever only reads."""

import asyncio
import os
import shutil

import pytest

from agents.errors import RunError
from app.sandbox.none.backend import NoSandbox
from app.sandbox.none.file_copies import fingerprint
from app.sandbox.port import Mount, SandboxCommand

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


async def test_nothing_survives(bash):
    result = await bash(
        "(setsid sleep 61 </dev/null >/dev/null 2>&1 &); sleep 0.1;"
        " ps -eo args | grep -c '^sleep 61'"
    )
    assert int(result.output) >= 1
    again = await bash("ps -eo args | grep -c '^sleep 61'")
    assert int(again.output) == 0


async def test_what_only_reads_works_on_a_copy(bash, tree):
    before = fingerprint(tree)
    result = await bash("echo more >>f; touch cache; chmod 700 f; cat f; ls", writable=False)
    assert (result.exit_code, result.output) == (0, "as it was\nmore\ncache\nf\n")
    assert fingerprint(tree) == before


@pytest.mark.parametrize(
    "act",
    ["touch .{0}/new", "echo x >.{0}/f", "chmod 700 .{0}/f", "rm .{0}/f"],
)
async def test_a_reader_that_finds_the_files_all_the_same_ends_the_run(bash, tree, act):
    with pytest.raises(RunError, match="may only read"):
        await bash(f"cd /; {act.format(tree)}", writable=False)


async def test_the_same_size_and_time_do_not_hide_a_change(tree):
    before = fingerprint(tree)
    status = (tree / "f").stat()
    await asyncio.sleep(0.02)
    (tree / "f").write_text("AS IT WAS\n")
    os.utime(tree / "f", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert fingerprint(tree) != before
