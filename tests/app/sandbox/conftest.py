"""What the sandbox's tests share: a sandbox that held, and a folder its user may enter."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from app.sandbox.port import Mount, SandboxCommand
from tests.patience import LOOKS


@pytest.fixture
def bash(sandbox, open_folder):
    """Run a bash script with an empty, writable /workspace."""
    tree = open_folder / "tree"
    tree.mkdir()
    tree.chmod(0o777)

    async def run(script, *, mounts=(), **options):
        mounts = (Mount(tree, "/workspace", writable=True), *mounts)
        return await sandbox.run(SandboxCommand(("bash", "-c", script), mounts=mounts, **options))

    return run


@pytest.fixture
def running():
    """Return the processes whose command line carries a mark."""

    def find_process(mark):
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                    yield int(entry.name)

    return lambda mark: list(find_process(mark))


@pytest.fixture
def started(running):
    """Wait until a process carries the mark, and return those that do."""

    async def wait(mark):
        for _ in range(LOOKS):
            if pids := running(mark):
                return pids
            await asyncio.sleep(0.02)
        raise AssertionError(f"nothing with {mark} was started")

    return wait


@pytest.fixture
def none_left(running):
    """Tell whether every process with the mark is gone, within a moment."""

    async def wait_until_gone(mark):
        for _ in range(LOOKS):
            if not running(mark):
                return True
            await asyncio.sleep(0.02)
        return False

    return wait_until_gone
