"""Step 8: run commands in bubblewrap, as an unprivileged user with no network and no secrets."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NoReturn

from agents.errors import ConfigError, TransientError
from agents.ports import CommandResult
from app.sandbox import escape_probe as probe
from app.sandbox.bubblewrap import profile
from app.sandbox.bubblewrap.errors import diagnose
from app.sandbox.cgroups.cgroup import CgroupFactory, CgroupLimits
from app.sandbox.cgroups.delegation import find_cgroups
from app.sandbox.cgroups.scope import CommandCgroup, hold
from app.sandbox.disk_quota import LOOK_EVERY, MB, DiskAllowance, DiskQuota
from app.sandbox.mount_points import make_mount_points
from app.sandbox.output_buffer import HeadTailBuffer
from app.sandbox.parent_watch import Lifeline, guarded, lifeline
from app.sandbox.path_permissions import WritablePaths, require_interpreter, require_reach
from app.sandbox.port import OperatorLimits, ProbeReport, SandboxCommand
from app.sandbox.privilege_drop import UnprivilegedLauncher
from app.sandbox.process_group import memory_file, run_group
from app.sandbox.results import FLOOD, as_result
from app.sandbox.seccomp import build_filter

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_LEFT_OVER = 0.25
"""Processors that no single command gets, so that Fettle itself goes on."""

_EXHAUSTED = re.compile("Resource temporarily unavailable|Cannot fork|Cannot allocate memory")


@dataclass(frozen=True)
class SandboxLaunch:
    """What starts one command in the sandbox, and holds it from then on."""

    argv: list[str]
    fds: list[int]
    """Descriptors that the process must inherit."""
    line: Lifeline
    """Its other end is to be the input of the process."""
    room: DiskAllowance
    group: CommandCgroup
    lowered: UnprivilegedLauncher | None
    """What it is to be started with, if not by this process's own user."""
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": _SYSTEM_PATH})
    """The only one there may be: inside, /proc/1/environ shows exactly this."""

    async def watch(self) -> None:
        """Return when the command has taken more than it may: then it is to be ended.

        Raises TransientError when this machine has no room for it any more.
        """
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if self.group.out_of_memory() or await self.room.taken():
                return


class Bubblewrap:
    """The default sandbox.

    Started by root it becomes `sandbox_uid` first: as root even a powerless process may write
    to the kernel's settings. Started by anybody else it stays who it is.
    """

    name = "bubblewrap"
    level: Literal["full"] = "full"

    def __init__(
        self,
        sandbox_uid: int,
        toolchains: Sequence[Path] = (),
        bounds: OperatorLimits | None = None,
        find: Callable[[], tuple[CgroupFactory | None, str]] = find_cgroups,
    ) -> None:
        if sandbox_uid <= 0:
            raise ConfigError(
                "Agents never run as root. Set FETTLE_SANDBOX_UID to the number of a user that "
                "nothing else uses, such as 58999."
            )
        as_root = os.geteuid() == 0
        self.owner = (sandbox_uid, sandbox_uid) if as_root else (os.geteuid(), os.getegid())
        self._lowered = UnprivilegedLauncher(self.owner) if as_root else None
        self._toolchains = tuple(toolchains)
        self._bounds = bounds or OperatorLimits()
        self._disk = DiskQuota(self._bounds)
        self._written = WritablePaths(self.owner)
        self._find = find
        self._found: tuple[CgroupFactory | None, str] | None = None
        self._filter = build_filter()
        self._etc = profile.etc_files()
        self._fixed = [*profile.NAMESPACES, *profile.system_options(), *profile.fresh_options()]
        self._report: ProbeReport | None = None

    async def probe(self) -> ProbeReport:
        """Try to break out, as an agent would; the answer is kept until restart."""
        if self._report is None:
            self._require_toolchains()
            report = await probe.attack(self)
            self._report = replace(report, notes=self._notes())
        return self._report

    async def run(self, command: SandboxCommand) -> CommandResult:
        """Run the command until it ends, its time is up, or it takes too much; nothing survives."""
        started = time.monotonic()
        output = HeadTailBuffer(command.max_output, FLOOD)
        async with self.way_in(command) as way:
            ended = await run_group(
                way.argv,
                environment=way.environment,
                timeout=command.timeout,
                out=output,
                stdin=way.line.guard_end,
                pass_fds=way.fds,
                watch=way.watch,
                lowered=way.lowered,
            )
            if ended.why == "exit" and not way.line.begun:
                self._explain(command, output.text(), way.line.fault)
            return as_result(
                ended,
                output.text(),
                time.monotonic() - started,
                memory=way.group.out_of_memory(),
                disk=ended.why == "exit" and await way.room.overrun(),
            )

    @asynccontextmanager
    async def way_in(
        self, command: SandboxCommand, *, talking: bool = False
    ) -> AsyncIterator[SandboxLaunch]:
        """Give the command line that leads into the sandbox, and all that holds the command.

        With `talking` its input is what is sent over the lifeline; otherwise it has none.
        Raises TransientError when this machine has no room for it now.
        """
        self._written.check(command.mounts)
        room = self._disk.room(command)
        make_mount_points(command.mounts, self.owner)
        with (
            hold(self._cgroups, self._quota(command)) as group,
            lifeline(group.add, group.threads) as line,
            self._prepared(command) as (start, fds),
        ):
            guard = guarded(command.argv, command.limits, self._data_limit(), talking=talking)
            yield SandboxLaunch([*start, *guard], fds, line, room, group, self._lowered)

    @property
    def _cgroups(self) -> CgroupFactory | None:
        """Return where control groups can be made; looked for when the first is wanted."""
        if self._found is None:
            self._found = self._find()
        return self._found[0]

    def _quota(self, command: SandboxCommand) -> CgroupLimits:
        processors = (os.cpu_count() or 1) - _LEFT_OVER
        return CgroupLimits(self._bounds.memory, command.limits.nproc, processors)

    def _data_limit(self) -> int | None:
        """Return the bytes of each process, where nothing holds those of all together."""
        return self._bounds.memory if self._cgroups is None else None

    def _notes(self) -> tuple[str, ...]:
        cgroups, memory = self._cgroups, f"{self._bounds.memory // MB} MB"
        if cgroups is None:
            why_not = self._found[1] if self._found else ""
            note = (
                f"Limits are held by rlimits: {memory} of memory for each process, not for a "
                f"command as a whole, because {why_not}."
            )
        else:
            note = (
                f"Limits are held by {cgroups.version} ({', '.join(cgroups.holds)}): {memory} of "
                f"memory for a command as a whole."
            )
        return (note,)

    @contextmanager
    def _prepared(self, command: SandboxCommand) -> Iterator[tuple[list[str], list[int]]]:
        """Give the command line that leads into the sandbox, and the descriptors it needs."""
        with _memory_files() as add:
            options = list(self._fixed)
            for path, data in self._etc.items():
                options += ["--perms", "0644", "--file", str(add(data)), path]
            options += profile.command_options(command, self._toolchains)
            options += ["--seccomp", str(add(self._filter))]
            # Options go through a file: the command line of process 1 can be read inside.
            listed = add(b"".join(option.encode() + b"\0" for option in options))
            yield [self._program, "--args", str(listed), "--"], add.fds

    @cached_property
    def _program(self) -> str:
        path = shutil.which("bwrap", path=_SYSTEM_PATH)
        if path is None:
            raise ConfigError(
                "The sandbox needs the program `bwrap`, which is not installed. "
                "Run `apt-get install bubblewrap`, or your system's like."
            )
        return path

    def _require_toolchains(self) -> None:
        require_reach(self._toolchains, self.owner)
        for toolchain in self._toolchains:
            require_interpreter(toolchain, (Path("/usr"), *self._toolchains))

    def _explain(self, command: SandboxCommand, text: str, fault: Exception | None) -> NoReturn:
        """Say why bwrap never ran the command, and who can mend it."""
        if fault is not None or _EXHAUSTED.search(text):
            raise TransientError(f"The sandbox could not start: {fault or text[-300:].strip()}")
        self._require_toolchains()
        require_reach((mount.source for mount in command.mounts), self.owner)
        cause, remedy = diagnose(text)
        raise ConfigError(
            f"The sandbox `{self.name}` does not start: {text[-500:].strip()}\n"
            f"Likely cause: {cause}\nRemedy: {remedy}"
        )


class _MemoryFiles:
    """Files in memory that a child inherits."""

    def __init__(self) -> None:
        self.fds: list[int] = []

    def __call__(self, data: bytes) -> int:
        """Return the descriptor of a new file with this content."""
        self.fds.append(memory_file("sandbox", data))
        return self.fds[-1]


@contextmanager
def _memory_files() -> Iterator[_MemoryFiles]:
    files = _MemoryFiles()
    try:
        yield files
    finally:
        for fd in files.fds:
            os.close(fd)
