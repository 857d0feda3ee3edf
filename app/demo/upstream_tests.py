"""Run upstream's tests of the fixed release on the code before and after."""

from __future__ import annotations

import asyncio
import io
import shutil
from dataclasses import dataclass
from pathlib import Path

from backports import tarfile

from app.demo.case import DemoCase
from app.sandbox.port import Mount, Sandbox, SandboxCommand
from app.simulator.github.gitdir import GitDir

JUDGE_SECONDS = 300.0


@dataclass(frozen=True)
class TestRun:
    """How the tests ended: exit code and last line."""

    exit_code: int
    summary: str


async def judge(
    case: DemoCase, sandbox: Sandbox, gitdir: Path, commit: str, place: Path
) -> TestRun:
    """Run upstream's tests on a commit of the repository, in the sandbox.

    The tests replace whatever the commit has in their place: nobody judges himself.
    """
    tree = place / f"judge-{commit[:10]}"
    await _export(gitdir, commit, tree)
    for part in case.about.judge.take:
        await asyncio.to_thread(shutil.rmtree, tree / part, ignore_errors=True)
        await asyncio.to_thread(shutil.copytree, case.after / part, tree / part)
    result = await sandbox.run(
        SandboxCommand(
            argv=("bash", "-c", case.about.judge.command),
            folder="/workspace",
            mounts=(Mount(tree, "/workspace"),),
            timeout=JUDGE_SECONDS,
        )
    )
    lines = result.output.strip().splitlines() or [""]
    return TestRun(result.exit_code, lines[-1].strip("= "))


async def _export(gitdir: Path, commit: str, target: Path) -> None:
    """Write a commit's files, without a checkout."""
    packed = await GitDir(gitdir).run("archive", "--format=tar", commit)
    await asyncio.to_thread(_unpack, packed, target)


def _unpack(packed: bytes, target: Path) -> None:
    target.mkdir()
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(target, filter="data")
