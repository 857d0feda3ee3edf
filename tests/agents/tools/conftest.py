"""A work tree that is a plain folder, and a bench with it, for the tests of the tools."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

import pytest

from agents.errors import ToolError
from agents.policy import Policy, Toolset, Web
from agents.ports import CommandResult, ToolEffects
from agents.tools.base import Bench, Capability

READING, ACTING = (
    ToolEffects(only_reads=True, outside=True),
    ToolEffects(only_reads=False, outside=True),
)
ARGUMENTS = {
    "bash": {"command": "make"},
    "edit": {"path": "a.py", "old": "a", "new": "b"},
    "gh": {"verb": "issue", "number": 7},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "a"},
    "read": {"path": "a.py"},
    "webfetch": {"url": "https://docs.example.org/guide"},
    "write": {"path": "a.py", "content": ""},
}


LISTED = Policy(web=Web(hosts=("docs.example.org",)), mcp=(Toolset(server="tracker"),))


class FolderTree:
    """The part of the work tree port that tools use, on a folder; commands run unheld."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = os.environ["PATH"]
        self.commands: list[tuple[list[str], bool]] = []
        self.networks: list[str] = []

    async def read(self, path, *, limit=1_000_000):
        file = self.root / path
        if file.is_symlink() or not file.is_file():
            raise ToolError(f"There is no file {path}.")
        data = file.read_bytes()
        if len(data) > limit:
            raise ToolError(f"{path} is too large.")
        return data

    async def write(self, path, data):
        file = self.root / path
        if ".." in path or path.startswith("/") or ".git" in file.parts:
            raise AssertionError(f"the gate let {path} pass")
        if file.is_symlink():
            raise ToolError(f"{path} is a symbolic link.")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    async def run(self, argv, *, timeout, writable=True, max_output=64_000, network="none"):
        self.commands.append((list(argv), writable))
        self.networks.append(network)
        started = time.monotonic()
        with tempfile.TemporaryFile() as written:
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    cwd=self.root,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=written,
                    stderr=asyncio.subprocess.STDOUT,
                    env={"PATH": self.path, "HOME": str(self.root)},
                )
            except FileNotFoundError:
                return CommandResult(127, "exit", f"{argv[0]}: not found", 0.0)
            why = "exit"
            try:
                code = await asyncio.wait_for(process.wait(), timeout)
            except TimeoutError:
                process.kill()
                await process.wait()
                why, code = "timeout", 124
            written.seek(0)
            text = written.read().decode(errors="replace")
        if len(text) > max_output:
            text = f"{text[: max_output // 2]}\n…\n{text[-max_output // 2 :]}"
        return CommandResult(code, why, text, time.monotonic() - started)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / ".git").mkdir()
    return FolderTree(tmp_path)


@pytest.fixture
def bench(tree):
    return Bench(tree=tree, capability=Capability.CHANGE, policy=Policy())


@pytest.fixture
def reading(tree):
    return Bench(tree=tree, capability=Capability.READ_ONLY, policy=Policy())


@pytest.fixture
def put(tree):
    """Write a file of the work tree: text or bytes."""

    def write(path, content):
        file = tree.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    return write
