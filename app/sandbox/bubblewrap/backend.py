"""The bubblewrap sandbox: commands run as an unprivileged user, with no network and no secrets.

Options: bwrap(1). The kernel's side: namespaces(7), user_namespaces(7).
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, NoReturn

from agents.errors import ConfigError, TransientError
from agents.ports import CommandResult
from app.sandbox import escape_probe as probe
from app.sandbox.bubblewrap import profile
from app.sandbox.bubblewrap.errors import diagnose
from app.sandbox.bubblewrap.layers import LayerMounter
from app.sandbox.cgroups.cgroup import CgroupFactory, CgroupLimits
from app.sandbox.cgroups.delegation import find_cgroups
from app.sandbox.cgroups.scope import CommandCgroup, open_cgroup
from app.sandbox.deleted_files import CommandProcesses
from app.sandbox.disk_quota import LOOK_EVERY, MB, DiskAllowance, DiskQuota
from app.sandbox.mount_points import make_mount_points
from app.sandbox.output_buffer import HeadTailBuffer
from app.sandbox.parent_watch import Lifeline, build_guard, open_lifeline
from app.sandbox.path_permissions import WritablePaths, require_reach, require_toolchains
from app.sandbox.port import NO_LAYERS, OperatorLimits, ProbeReport, SandboxCommand
from app.sandbox.privilege_drop import UnprivilegedLauncher, choose_owner
from app.sandbox.process_group import FLOOD, build_result, make_memory_file, run_group
from app.sandbox.seccomp import build_filter
from app.sandbox.user_slots import UserSlots, describe_users

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_ANYWHERE = Path(tempfile.gettempdir())
_LEFT_OVER = 0.25
"""Processors that no single command gets, so that Fettle itself goes on working."""

_EXHAUSTED = re.compile("Resource temporarily unavailable|Cannot fork|Cannot allocate memory")


@dataclass(frozen=True)
class SandboxLaunch:
    """The command line that starts one command in the sandbox, and what holds the command."""

    argv: list[str]
    fds: list[int]
    """Descriptors that the process must inherit."""
    lifeline: Lifeline
    """The other end must be the input of the process."""
    disk: DiskAllowance
    cgroup: CommandCgroup
    launcher: UnprivilegedLauncher | None
    """What starts the process as another user; None where Fettle is no root."""
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": _SYSTEM_PATH})
    """The variables of bwrap itself, which /proc/1/environ shows inside."""

    async def watch(self) -> None:
        """Return when the command has taken more than it may, and so must be ended.

        Raises TransientError when this machine's disk gets full.
        """
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if self.cgroup.ran_out_of_memory() or await self.disk.is_exceeded():
                return


class Bubblewrap:
    """The default sandbox.

    Started by root, bwrap becomes `sandbox_uid` first: even without capabilities, root owns the
    kernel's settings in /proc/sys. Started by anybody else, bwrap keeps that user.
    """

    name = "bubblewrap"
    level: Literal["full"] = "full"

    def __init__(
        self,
        sandbox_uid: int,
        toolchains: Sequence[Path] = (),
        bounds: OperatorLimits | None = None,
        find: Callable[[], tuple[CgroupFactory | None, str]] = find_cgroups,
        place: Path = _ANYWHERE,
        *,
        group: int | None = None,
    ) -> None:
        """`group`: of the user, where it is another number than `sandbox_uid`."""
        self.owner = choose_owner(sandbox_uid, group)
        self._launcher = UnprivilegedLauncher(self.owner) if os.geteuid() == 0 else None
        self._place = place
        self._layers = LayerMounter(self.owner, self._launcher)
        self._toolchains = tuple(toolchains)
        self._bounds = bounds or OperatorLimits()
        self._disk = DiskQuota(self._bounds)
        self._slots = UserSlots.find(self.owner[1])
        self._of_runs: dict[int, Bubblewrap] = {}
        self._writable_paths = WritablePaths(self.owner, self._slots.users if self._slots else ())
        self._find = find
        self._found: tuple[CgroupFactory | None, str] | None = None
        self._filter = build_filter()
        self._etc = profile.build_etc_files()
        self._fixed = [
            *profile.NAMESPACES,
            *profile.build_system_options(),
            *profile.build_fresh_options(),
        ]
        self._report: ProbeReport | None = None

    def for_run(self, folder: Path, like: Path | None = None) -> Bubblewrap:
        """Return the same for the run with this folder, as a user of its own where Fettle is root.

        All have one group, by which they read what Fettle shows to each of them.
        """
        if self._slots is None:
            return self
        uid = self._slots.choose(folder, like)
        if uid not in self._of_runs:
            self._of_runs[uid] = Bubblewrap(
                uid,
                self._toolchains,
                self._bounds,
                lambda: (self._cgroups, ""),
                self._place,
                group=self.owner[1],
            )
        return self._of_runs[uid]

    def release(self, folder: Path) -> None:
        """Let another run have the user of the run with this folder, whose files are gone."""
        user = self._slots.release(folder) if self._slots is not None else None
        left = self._of_runs.pop(user, None) if user is not None else None
        if left is not None:
            left.close()

    def close(self) -> None:
        """End the thread that starts commands as this user; what runs ends with it."""
        if self._launcher is not None:
            self._launcher.close()

    async def probe(self) -> ProbeReport:
        """Attack the sandbox as an agent would; the report is kept until restart."""
        if self._report is None:
            require_toolchains(self._toolchains, self.owner)
            report = await probe.attack(self)
            notes = (*self._describe_limits(), *await self._describe_layers())
            self._report = replace(report, notes=notes)
        return self._report

    async def run(self, command: SandboxCommand) -> CommandResult:
        """Run the command until it ends, its time is up, or it takes too much; nothing survives.

        Raises ConfigError when bwrap does not start, and TransientError when it may later.
        """
        started = time.monotonic()
        output = HeadTailBuffer(command.max_output, FLOOD)
        async with self.prepare(command) as launch:
            ended = await run_group(
                launch.argv,
                environment=launch.environment,
                timeout=command.timeout,
                out=output,
                stdin=launch.lifeline.guard_end,
                pass_fds=launch.fds,
                watch=launch.watch,
                launcher=launch.launcher,
            )
            if ended.why == "exit" and not launch.lifeline.begun:
                self._raise_start_error(command, output.text(), launch.lifeline.fault)
            return build_result(
                ended,
                output.text(),
                time.monotonic() - started,
                memory=launch.cgroup.ran_out_of_memory(),
                disk=ended.why == "exit" and await launch.disk.was_exceeded(),
            )

    @asynccontextmanager
    async def prepare(
        self, command: SandboxCommand, *, keep_stdin: bool = False
    ) -> AsyncIterator[SandboxLaunch]:
        """Yield the command line that leads into the sandbox, and all that holds the command.

        With `keep_stdin` the command reads what is sent over the lifeline; otherwise it has no
        input. Raises TransientError when this machine has no room for a command now.
        """
        command = replace(command, mounts=await self._layers.settle(command.mounts))
        self._writable_paths.check(command.mounts)
        processes = CommandProcesses()
        disk = self._disk.allow(command, processes.count_deleted)
        make_mount_points(profile.list_mounts(command, self._toolchains), self.owner)
        with (
            open_cgroup(self._cgroups, self._build_limits(command)) as cgroup,
            open_lifeline(partial(_hold, cgroup, processes), cgroup.threads) as line,
            self._build_argv(command) as (start, fds),
        ):
            guard = build_guard(
                command.argv, command.limits, self._data_limit(), keep_stdin=keep_stdin
            )
            yield SandboxLaunch([*start, *guard], fds, line, disk, cgroup, self._launcher)

    @property
    def _cgroups(self) -> CgroupFactory | None:
        """Return what makes control groups, looked for when the first is wanted."""
        if self._found is None:
            self._found = self._find()
        return self._found[0]

    def _build_limits(self, command: SandboxCommand) -> CgroupLimits:
        processors = (os.cpu_count() or 1) - _LEFT_OVER
        return CgroupLimits(self._bounds.memory, command.limits.nproc, processors)

    def _data_limit(self) -> int | None:
        """Return the bytes for each process, where no control group holds all together."""
        return self._bounds.memory if self._cgroups is None else None

    async def _describe_layers(self) -> tuple[str, ...]:
        fault = await self._layers.find_fault(self._place if self._place.is_dir() else _ANYWHERE)
        return (NO_LAYERS.format(why=f"this machine refuses them on its disk: {fault}"),) * bool(
            fault
        )

    def _describe_limits(self) -> tuple[str, ...]:
        cgroups, memory = self._cgroups, f"{self._bounds.memory // MB} MB"
        if cgroups is None:
            why_not = self._found[1] if self._found else ""
            note = (
                f"Limits are held by rlimits: {memory} of memory for each process, not for a "
                f"command as a whole, because {why_not}."
            )
        else:
            note = (
                f"Limits are held by {cgroups.version} ({', '.join(cgroups.controllers)}): "
                f"{memory} of memory for a command as a whole."
            )
        note += " Java is told so (-XX:MaxRAM), since it would go by the machine's."
        return (note, self._disk.describe(), describe_users(self._slots))

    @contextmanager
    def _build_argv(self, command: SandboxCommand) -> Iterator[tuple[list[str], list[int]]]:
        """Yield the command line that leads into the sandbox, and the descriptors it needs."""
        with _open_memory_files() as add:
            options = list(self._fixed)
            for path, data in self._etc.items():
                options += ["--perms", "0644", "--file", str(add(data)), path]
            options += profile.build_command_options(command, self._toolchains, self._bounds.memory)
            options += ["--seccomp", str(add(self._filter))]
            # Options go through a file: the command line of process 1 can be read inside.
            listed = add(b"".join(option.encode() + b"\0" for option in options))
            layers = self._layers.build_argv(command.mounts)
            yield [*layers, self._program, "--args", str(listed), "--"], add.fds

    @cached_property
    def _program(self) -> str:
        path = shutil.which("bwrap", path=_SYSTEM_PATH)
        if path is None:
            raise ConfigError(
                f"The sandbox `{self.name}` does not start.\n"
                f"Likely cause: the program `bwrap` is not installed\n"
                f"Remedy: run `apt-get install bubblewrap`, or your system's like"
            )
        return path

    def _raise_start_error(
        self, command: SandboxCommand, text: str, fault: Exception | None
    ) -> NoReturn:
        """Raise TransientError or ConfigError, which says why bwrap never ran the command."""
        if fault is not None or _EXHAUSTED.search(text):
            raise TransientError(f"The sandbox could not start: {fault or text[-300:].strip()}")
        require_toolchains(self._toolchains, self.owner)
        require_reach((mount.source for mount in command.mounts), self.owner)
        cause, remedy = diagnose(text)
        raise ConfigError(
            f"The sandbox `{self.name}` does not start: {text[-500:].strip()}\n"
            f"Likely cause: {cause}\nRemedy: {remedy}"
        )


def _hold(cgroup: CommandCgroup, processes: CommandProcesses, pid: int) -> None:
    """Put a command's first process into its control group, and know the others by it."""
    processes.note(pid)
    cgroup.add(pid)


class _MemoryFiles:
    """Files in memory that a child inherits."""

    def __init__(self) -> None:
        self.fds: list[int] = []

    def __call__(self, data: bytes) -> int:
        """Return the descriptor of a new file with this content."""
        self.fds.append(make_memory_file("sandbox", data))
        return self.fds[-1]


@contextmanager
def _open_memory_files() -> Iterator[_MemoryFiles]:
    files = _MemoryFiles()
    try:
        yield files
    finally:
        for fd in files.fds:
            os.close(fd)
