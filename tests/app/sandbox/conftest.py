"""What the sandbox's tests share: a sandbox that held, and a folder its user may enter."""

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest

from app.sandbox.base import Command, Mount
from app.sandbox.bubblewrap import Bubblewrap

SANDBOX_UID = 58999


@pytest.fixture(scope="session")
def sandbox():
    made = Bubblewrap(SANDBOX_UID)
    report = asyncio.run(made.probe())
    if not report.held:
        pytest.skip(f"no sandbox here: {report.cause}; {report.remedy}")
    return made


@pytest.fixture
def open_folder():
    """A folder that every user may enter; pytest's own is closed to all but us."""
    folder = Path(tempfile.mkdtemp(prefix="fettle-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def bash(sandbox, open_folder):
    """Run a bash script with an empty, writable /workspace."""
    tree = open_folder / "tree"
    tree.mkdir()
    tree.chmod(0o777)

    async def run(script, *, mounts=(), **options):
        mounts = (Mount(tree, "/workspace", writable=True), *mounts)
        return await sandbox.run(Command(("bash", "-c", script), mounts=mounts, **options))

    return run
