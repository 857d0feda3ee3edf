"""Step 8: run commands in bubblewrap, as an unprivileged user with no network and no secrets."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NoReturn

from agents.errors import ConfigError, TransientError
from agents.ports import CommandResult
from app.sandbox import probe, profile
from app.sandbox.base import Command, Limits, ProbeReport
from app.sandbox.causes import diagnose
from app.sandbox.lifeline import lifeline
from app.sandbox.output import HeadTail
from app.sandbox.process import Ended, memory_file, run_group
from app.sandbox.reach import require_interpreter, require_reach
from app.sandbox.seccomp import build_filter

FLOOD = 64 * 1024 * 1024
"""Bytes of output after which a command is stopped."""

TIMED_OUT = 124
"""The exit code of a command whose time was up, as `timeout` gives it."""

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_ENDED_BY_LIMIT = {128 + signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGXFSZ}


class Bubblewrap:
    """The default sandbox.

    Started by root it becomes `sandbox_uid` first: as root even a powerless process may write
    to the kernel's settings. Started by anybody else it stays who it is.
    """

    name = "bubblewrap"
    level: Literal["full"] = "full"

    def __init__(self, sandbox_uid: int, toolchains: Sequence[Path] = ()) -> None:
        if sandbox_uid <= 0:
            raise ConfigError(
                "Agents never run as root. Set FETTLE_SANDBOX_UID to the number of a user that "
                "nothing else uses, such as 58999."
            )
        self._drop = os.geteuid() == 0
        self.owner = (sandbox_uid, sandbox_uid) if self._drop else (os.geteuid(), os.getegid())
        self._toolchains = tuple(toolchains)
        self._filter = build_filter()
        self._fixed = [*profile.NAMESPACES, *profile.system_options(), *profile.fresh_options()]
        self._report: ProbeReport | None = None

    async def probe(self) -> ProbeReport:
        """Try to break out, as an agent would; the answer is kept until restart."""
        if self._report is None:
            self._require_toolchains()
            self._report = await probe.attack(self)
        return self._report

    async def run(self, command: Command) -> CommandResult:
        """Run the command until it ends, its time is up, or it floods us; nothing survives it."""
        started = time.monotonic()
        output = HeadTail(command.max_output, FLOOD)
        with lifeline(output) as line, self._prepared(command) as (start, fds):
            ended = await run_group(
                [*start, *line.guarded(command.argv)],
                environment={"PATH": _SYSTEM_PATH},  # /proc/1/environ inside shows exactly this
                timeout=command.timeout,
                out=line,
                stdin=line.guard_end,
                pass_fds=fds,
            )
        if ended.why == "exit" and not line.begun:
            self._explain(command, output.text())
        return _result(ended, output.text(), time.monotonic() - started)

    @contextmanager
    def _prepared(self, command: Command) -> Iterator[tuple[list[str], list[int]]]:
        """Give the command line that leads into the sandbox, and the descriptors it needs."""
        with _memory_files() as add:
            options = list(self._fixed)
            for path, text in profile.ETC.items():
                options += ["--perms", "0644", "--ro-bind-data", str(add(text.encode())), path]
            options += profile.command_options(command, self._toolchains)
            options += ["--seccomp", str(add(self._filter))]
            # Options go through a file: the command line of process 1 can be read inside.
            listed = add(b"".join(option.encode() + b"\0" for option in options))
            yield [*self._prefix(command.limits), "--args", str(listed), "--"], add.fds

    def _prefix(self, limits: Limits) -> list[str]:
        memory = [] if limits.memory is None else [f"--as={limits.memory}"]
        drop = [
            _program("setpriv"),
            f"--reuid={self.owner[0]}",
            f"--regid={self.owner[1]}",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
            "--no-new-privs",
        ]
        return [
            _program("prlimit"),
            f"--nproc={limits.nproc}",
            f"--fsize={limits.fsize}",
            f"--nofile={limits.nofile}",
            f"--cpu={limits.cpu}",
            "--core=0",
            *memory,
            *(drop if self._drop else []),
            _program("bwrap"),
        ]

    def _require_toolchains(self) -> None:
        require_reach(self._toolchains, self.owner)
        for toolchain in self._toolchains:
            require_interpreter(toolchain, (Path("/usr"), *self._toolchains))

    def _explain(self, command: Command, text: str) -> NoReturn:
        """Say why bwrap never ran the command, and who can mend it."""
        if "Resource temporarily unavailable" in text:
            raise TransientError(f"The sandbox could not start: {text[-300:].strip()}")
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


def _program(name: str) -> str:
    path = shutil.which(name, path=_SYSTEM_PATH)
    if path is None:
        package = "bubblewrap" if name == "bwrap" else "util-linux"
        raise ConfigError(
            f"The sandbox needs the program `{name}`, which is not installed. "
            f"Run `apt-get install {package}`, or your system's like."
        )
    return path


def _result(ended: Ended, output: str, seconds: float) -> CommandResult:
    if ended.why == "timeout":
        return CommandResult(TIMED_OUT, "timeout", output, seconds)
    if ended.why == "output":
        return CommandResult(128 + signal.SIGKILL, "output", output, seconds)
    code = ended.code if ended.code >= 0 else 128 - ended.code
    return CommandResult(code, "killed" if code in _ENDED_BY_LIMIT else "exit", output, seconds)
