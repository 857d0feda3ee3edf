"""A sandbox in which the tests' MCP server can run, and the runs' port to its tools."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import pytest

from agents.policy import Policy, Toolset
from app.mcp.config import StdioServer
from app.mcp.connection import Connection
from app.mcp.stdio import make_transport
from app.mcp.toolsets import RunToolsets
from app.sandbox.bubblewrap.backend import Bubblewrap

MARK = f"started-by-{os.getpid()}"
"""Tells these servers from those of other tests that run at the same time."""

PYTHON = "/usr/bin/python3"  # sandboxes see /usr


def packages(name, seen):
    """Yield the installed distributions that a package needs."""
    name = name.lower().replace("_", "-")
    if name in seen:
        return
    seen.add(name)
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return  # only needed elsewhere
    yield found
    for need in found.requires or ():
        if "extra ==" not in need:
            yield from packages(re.match(r"[\w.-]+", need)[0], seen)


@pytest.fixture(scope="session")
def libraries():
    """A folder with the `mcp` package, for the Python that sandboxes have."""
    version = subprocess.run([PYTHON, "-V"], capture_output=True, text=True, check=False).stdout
    if not version.startswith(f"Python {sys.version_info[0]}.{sys.version_info[1]}."):
        pytest.skip(f"{PYTHON} is {version.strip() or 'not there'}, not the Python of these tests")
    folder = Path(tempfile.mkdtemp(prefix="fettle-mcp-"))
    folder.chmod(0o755)
    for found in packages("mcp", set()):
        for file in found.files or ():
            if ".." not in file.parts and file.suffix != ".pyc" and file.locate().is_file():
                target = folder / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.locate(), target)
    subprocess.run([PYTHON, "-m", "compileall", "-q", folder], check=False)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def sandbox(libraries):
    made = Bubblewrap(58999, toolchains=[libraries])
    report = asyncio.run(made.probe())
    if not report.held:
        pytest.skip(f"no sandbox here: {report.cause}; {report.remedy}")
    return made


@pytest.fixture(scope="session")
def workspace():
    folder = Path(tempfile.mkdtemp(prefix="fettle-mcp-ws-"))
    folder.chmod(0o755)
    shutil.copyfile(Path(__file__).with_name("server.py"), folder / "server.py")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def served(sandbox, workspace, libraries):
    """Return the toolsets of a run for which the server runs in this mode."""
    made = []

    def start(mode="honest", **environment):
        given = {"PYTHONPATH": str(libraries)} | environment
        command = (PYTHON, "/workspace/server.py", mode, MARK)
        server = StdioServer("test_server", command, given)
        toolsets = RunToolsets(
            {server.name: server},
            lambda each: Connection(each.name, lambda: make_transport(sandbox, each, workspace)),
        )
        made.append(toolsets)
        return toolsets

    yield start
    for each in made:
        await each.close()


@pytest.fixture
def policy():
    return Policy(mcp=(Toolset(server="test_server"),))
