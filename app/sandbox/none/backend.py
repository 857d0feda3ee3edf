"""The backend `none`: commands run without a sandbox, for operators who said so twice.

What stays: another user when Fettle is root, no new privileges, an environment from nothing,
limits, and a supervisor that ends all that a command started. Nothing can be mounted, so paths
are translated, and a command that may only read works on a copy.
"""

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
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NoReturn

from agents.errors import ConfigError, RunError, TransientError
from agents.ports import CommandResult
from app.sandbox import escape_probe as probe
from app.sandbox.disk_quota import DiskQuota
from app.sandbox.none import supervisor
from app.sandbox.none.file_copies import copy_tree, take_fingerprint
from app.sandbox.none.mount_links import link_nested
from app.sandbox.none.path_translation import PathTranslation
from app.sandbox.output_buffer import HeadTailBuffer, OutputSink
from app.sandbox.parent_watch import HandshakeSink
from app.sandbox.path_permissions import WritablePaths, require_reach, require_toolchains
from app.sandbox.port import (
    Mount,
    OperatorLimits,
    ProbeReport,
    ResourceLimits,
    SandboxCommand,
    build_environment,
)
from app.sandbox.privilege_drop import choose_owner
from app.sandbox.process_group import (
    FLOOD,
    ProcessExit,
    WatchGroup,
    build_result,
    make_memory_file,
    run_group,
)

PATIENCE = 30.0
"""Seconds that all processes of a command may take to end."""

_AGENTS = "/workspace"
"""Where commands of agents work. Elsewhere only Fettle's own scripts work, which just read."""

_SCRATCH_ROOT = "/tmp"  # noqa: S108 # folders below it are made by mkdtemp


class NoSandbox:
    """Runs commands on this machine as it is."""

    name = "none"
    level: Literal["none"] = "none"
    required = (
        "the sandbox runs commands",
        "runs as an ordinary user",
        "gain privileges",
        "start more processes than allowed",
    )
    """The attacks of the probe that are held even so."""

    def __init__(
        self,
        sandbox_uid: int,
        toolchains: Sequence[Path] = (),
        bounds: OperatorLimits | None = None,
    ) -> None:
        self.owner = choose_owner(sandbox_uid)
        self._toolchains = tuple(toolchains)
        self._bounds = bounds or OperatorLimits()
        self._disk = DiskQuota(self._bounds)
        self._writable_paths = WritablePaths(self.owner)
        self._report: ProbeReport | None = None

    def for_run(self, folder: Path, like: Path | None = None) -> NoSandbox:  # noqa: ARG002 the port
        """Return itself: all commands are one user's."""
        return self

    def release(self, folder: Path) -> None:
        """Hold nothing."""

    async def probe(self) -> ProbeReport:
        """Attack as an agent would; what is not held becomes a note, kept until restart."""
        if self._report is None:
            require_toolchains(self._toolchains, self.owner)
            report = await probe.attack(self)
            open_ways = [p for p in report.probes if not p.held and p.name not in self.required]
            probes = tuple(p for p in report.probes if p not in open_ways)
            held = all(p.held for p in probes)
            self._report = replace(
                report,
                probes=probes,
                cause="" if held else report.cause,
                remedy="" if held else report.remedy,
                notes=tuple(f"Does not hold: {p.name}." for p in open_ways),
            )
        return self._report

    async def run(self, command: SandboxCommand) -> CommandResult:
        """Run the command until it ends, its time is up, or it takes too much; nothing survives.

        Raises RunError when a command that may only read has changed the work tree, ConfigError
        when this machine cannot start a command, TransientError when it may later.
        """
        with _make_scratch_folder(self.owner) as scratch:
            guarded = [m for m in command.mounts if self._needs_copy(m)]
            before = await _take_fingerprints(guarded)
            copies = {m: await _copy(m, scratch / f"copy{n}") for n, m in enumerate(guarded)}
            own = replace(command, mounts=tuple(copies.get(m, m) for m in command.mounts))
            result = await self._run(own, scratch)
            if await _take_fingerprints(guarded) != before:
                raise RunError(
                    "A command that may only read changed the run's files, which nothing prevents "
                    "with FETTLE_SANDBOX=none. The run ends here: look at what the issue made it "
                    "do, and use a sandbox that holds."
                )
            return result

    async def _run(self, command: SandboxCommand, scratch: Path) -> CommandResult:
        started = time.monotonic()
        self._writable_paths.check(command.mounts)
        disk = self._disk.allow(command)
        link_nested(command.mounts, self.owner)
        own = (Mount(tool, str(tool)) for tool in self._toolchains)  # they stay what they are
        paths = PathTranslation((*own, *command.mounts), scratch)
        output = HeadTailBuffer(command.max_output, FLOOD)
        out = HandshakeSink(output)
        ended = await _supervise(
            self._build_orders(command, paths), command.timeout, out, disk.watch
        )
        text = paths.restore(output.text())
        if ended.why == "exit" and not out.begun:
            self._raise_start_error(command, text)
        full = ended.why == "exit" and await disk.was_exceeded()
        return build_result(ended, text, time.monotonic() - started, disk=full)

    def _build_orders(self, command: SandboxCommand, paths: PathTranslation) -> dict[str, Any]:
        variables = build_environment(
            command.environment, self._toolchains, memory=self._bounds.memory
        )
        return {
            "argv": paths.translate_argv(command),
            "environment": paths.translate_environment(variables),
            "folder": paths.translate(command.folder),
            "limits": _build_rlimits(command.limits, self._bounds.memory),
            "owner": self.owner if os.geteuid() == 0 else None,
        }

    def _needs_copy(self, mount: Mount) -> bool:
        """Tell whether the mount is to be read alone, yet belongs to the user of commands."""
        inside = Path(mount.target).is_relative_to(_AGENTS)
        return inside and not mount.writable and mount.source.stat().st_uid == self.owner[0]

    def _raise_start_error(self, command: SandboxCommand, text: str) -> NoReturn:
        """Raise TransientError or ConfigError, which says why the command never began."""
        if "temporarily unavailable" in text:
            raise TransientError(f"The command could not start: {text[-300:].strip()}")
        require_reach((mount.source for mount in command.mounts), self.owner)
        raise ConfigError(
            f"A command could not start: {text[-500:].strip()}\n"
            f"Likely cause: this kernel or container refuses what it needs\n"
            f"Remedy: run `fettle doctor sandbox --all` and use a sandbox that holds"
        )


@contextmanager
def _make_scratch_folder(owner: tuple[int, int]) -> Iterator[Path]:
    """Yield a folder with an empty `home` and `tmp` that belong to the command's user."""
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


async def _take_fingerprints(mounts: Sequence[Mount]) -> list[str]:
    return [await asyncio.to_thread(take_fingerprint, mount.source) for mount in mounts]


async def _copy(mount: Mount, place: Path) -> Mount:
    await copy_tree(mount.source, place)
    return Mount(place, mount.target, writable=True)


async def _supervise(
    orders: dict[str, Any], timeout: float, out: OutputSink, watch: WatchGroup
) -> ProcessExit:
    """Run the supervisor, and return only when all processes below it are gone."""
    line, ours = os.pipe2(os.O_CLOEXEC)
    gone, done = os.pipe2(os.O_CLOEXEC)
    written = make_memory_file("orders", marshal.dumps({**orders, "line": line, "done": done}))
    handed = [line, done, written]
    try:
        return await run_group(
            [sys.executable, "-I", "-S", supervisor.__file__, str(written)],
            environment={"PATH": os.defpath},
            timeout=timeout,
            out=out,
            pass_fds=handed,
            watch=watch,
        )
    finally:
        for fd in (*handed, ours):
            os.close(fd)
        await asyncio.shield(_wait_until_closed(gone))


async def _wait_until_closed(fd: int) -> None:
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


def _build_rlimits(limits: ResourceLimits, memory: int) -> dict[int, int]:
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
