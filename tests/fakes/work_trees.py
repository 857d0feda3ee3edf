"""Fakes of the port WorkTree: a plain folder, and files beside commands that end as is said."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

from agents.errors import ToolError
from agents.ports import CommandResult


class FolderTree:
    """The part of the port WorkTree that tools and checks use, on a folder; commands run unheld.

    `environment`: of commands; None: the programs of this process, and the folder as home.
    """

    def __init__(self, root: Path, environment=None) -> None:
        (root / ".git").mkdir(exist_ok=True)
        self.root = root
        self.path = os.environ["PATH"]
        self.environment = environment
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

    async def show(self, _revision, path):
        file = self.root / path
        return file.read_bytes() if file.is_file() else None

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
                    env=self.environment or {"PATH": self.path, "HOME": str(self.root)},
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


class AnsweringTree:
    """Files, and how every command ends, in turn; the last end is that of all others."""

    def __init__(self, files, *ends):
        self.files, self.ends = files, list(ends)

    async def read(self, path, limit=None):
        if path not in self.files:
            raise ToolError(f"{path} is not there")
        return self.files[path].encode()

    async def write(self, path, data):
        self.files[path] = data.decode()

    async def ask(self, argv, **more):
        code, why, said = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        return CommandResult(exit_code=code, why=why, output=said, seconds=9.0)
