"""Step 8: run a command without namespaces: at its real paths, and under a keeper that ends it."""

from __future__ import annotations

import asyncio
import marshal
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from agents.errors import ConfigError, TransientError
from agents.ports import CommandResult
from app.sandbox.bubblewrap.profile import environment
from app.sandbox.disk_quota import DiskQuota
from app.sandbox.none import supervisor as keeper
from app.sandbox.none.mount_links import link_nested
from app.sandbox.none.path_translation import PathTranslation
from app.sandbox.output_buffer import HeadTailBuffer, OutputSink
from app.sandbox.path_permissions import WritablePaths, require_interpreter, require_reach
from app.sandbox.port import Mount, OperatorLimits, ResourceLimits, SandboxCommand
from app.sandbox.process_group import ProcessExit, Watch, memory_file, run_group
from app.sandbox.results import FLOOD, as_result
from app.sandbox.start_handshake import Begun

PATIENCE = 30.0
"""Seconds that everything a command started may take to end."""

_SCRATCH_ROOT = "/tmp"  # noqa: S108 # folders below it are made by mkdtemp


@dataclass(frozen=True)
class Holds:
    """What the kernel is asked to hold, beside user and limits; see keeper.py for the forms."""

    handled: tuple[int, int, int] | None = None
    rules: tuple[tuple[str, int], ...] = ()
    filter: bytes | None = None


def sandbox_owner(sandbox_uid: int) -> tuple[int, int]:
    """Return as whom commands run: the sandbox's user when Fettle is root, else Fettle's own."""
    if sandbox_uid <= 0:
        raise ConfigError(
            "Agents never run as root. Set FETTLE_SANDBOX_UID to the number of a user that "
            "nothing else uses, such as 58999."
        )
    drop = os.geteuid() == 0
    return (sandbox_uid, sandbox_uid) if drop else (os.geteuid(), os.getegid())


@contextmanager
def scratch_folder(owner: tuple[int, int]) -> Iterator[Path]:
    """Give a folder with an empty `home` and `tmp` that belong to the command."""
    folder = Path(tempfile.mkdtemp(prefix="fettle-scratch-", dir=_SCRATCH_ROOT))
    try:
        folder.chmod(0o711)
        for name in ("home", "tmp"):
            (folder / name).mkdir(mode=0o700)
            if os.geteuid() == 0:
                os.chown(folder / name, *owner)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Unmounted:
    """Runs commands at their real paths, within what the operator lets them take."""

    def __init__(
        self, sandbox_uid: int, toolchains: Sequence[Path], bounds: OperatorLimits | None
    ) -> None:
        self.owner = sandbox_owner(sandbox_uid)
        self.toolchains = tuple(toolchains)
        self._bounds = bounds or OperatorLimits()
        self._disk = DiskQuota(self._bounds)
        self._written = WritablePaths(self.owner)

    def require_toolchains(self) -> None:
        """Raise ConfigError unless commands can use them."""
        require_reach(self.toolchains, self.owner)
        for toolchain in self.toolchains:
            require_interpreter(toolchain, (Path("/usr"), *self.toolchains))

    async def run(self, command: SandboxCommand, scratch: Path, holds: Holds) -> CommandResult:
        """Run the command until it ends, its time is up, or it takes too much.

        Raises ConfigError when this machine cannot start it. Nothing survives it.
        """
        started = time.monotonic()
        self._written.check(command.mounts)
        room = self._disk.room(command)
        link_nested(command.mounts, self.owner)
        own = (Mount(tool, str(tool)) for tool in self.toolchains)  # they stay what they are
        paths = PathTranslation((*own, *command.mounts), scratch)
        output = HeadTailBuffer(command.max_output, FLOOD)
        out = Begun(output)
        ended = await _keep(self._orders(command, paths, holds), command.timeout, out, room.watch)
        text = paths.shown(output.text())
        if ended.why == "exit" and not out.begun:
            self._explain(command, text)
        full = ended.why == "exit" and await room.overrun()
        return as_result(ended, text, time.monotonic() - started, disk=full)

    def _orders(
        self, command: SandboxCommand, paths: PathTranslation, holds: Holds
    ) -> dict[str, Any]:
        variables = environment(command.environment, self.toolchains)
        return {
            "argv": paths.argv(command),
            "environment": paths.environment(variables),
            "folder": paths.text(command.folder),
            "limits": _limits(command.limits, self._bounds.memory),
            "owner": self.owner if os.geteuid() == 0 else None,
            "handled": holds.handled,
            "rules": holds.rules,
            "filter": holds.filter,
        }

    def _explain(self, command: SandboxCommand, text: str) -> NoReturn:
        """Say why the command never began, and who can mend it."""
        if "temporarily unavailable" in text:
            raise TransientError(f"The sandbox could not start: {text[-300:].strip()}")
        require_reach((mount.source for mount in command.mounts), self.owner)
        raise ConfigError(
            f"The sandbox could not start a command: {text[-500:].strip()}\n"
            f"Likely cause: this kernel or container refuses what the sandbox needs\n"
            f"Remedy: run `fettle doctor sandbox --all` and use a sandbox that holds"
        )


async def _keep(
    orders: dict[str, Any], timeout: float, out: OutputSink, watch: Watch
) -> ProcessExit:
    """Run the keeper, and return only when everything below it is gone."""
    line, ours = os.pipe2(os.O_CLOEXEC)
    gone, done = os.pipe2(os.O_CLOEXEC)
    written = memory_file("orders", marshal.dumps({**orders, "line": line, "done": done}))
    handed = [line, done, written]
    try:
        return await run_group(
            [sys.executable, "-I", "-S", keeper.__file__, str(written)],
            environment={"PATH": os.defpath},
            timeout=timeout,
            out=out,
            pass_fds=handed,
            watch=watch,
        )
    finally:
        for fd in (*handed, ours):
            os.close(fd)
        await asyncio.shield(_closed(gone))


async def _closed(fd: int) -> None:
    """Wait until nobody holds the other end of this pipe."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    os.set_blocking(fd, False)
    loop.add_reader(fd, ended.set)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await ended.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def _limits(limits: ResourceLimits, memory: int) -> dict[int, int]:
    most = {
        resource.RLIMIT_NPROC: limits.nproc,
        resource.RLIMIT_FSIZE: limits.fsize,
        resource.RLIMIT_NOFILE: limits.nofile,
        resource.RLIMIT_CPU: limits.cpu,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: memory,  # of each process: nothing holds those of all together
    }
    if limits.memory is not None:
        most[resource.RLIMIT_AS] = limits.memory
    return most
