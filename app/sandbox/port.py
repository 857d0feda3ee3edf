"""The port that each sandbox implements: commands, their environment, and what attacks found."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from agents.errors import ConfigError
from agents.ports import CommandResult

HOME = "/home/agent"
SCRATCH = "/tmp"  # noqa: S108 # inside, not ours
UPPER = "upper"
PATH = "/usr/local/bin:/usr/bin:/bin"


NO_LAYERS = (
    "Stages that only read see the repository read-only, so what builds in its folder fails there, "
    "and installed caches at home cannot be added to: writable layers cannot be had, because {why}."
)
"""A note for operators."""


@dataclass(frozen=True)
class Mount:
    """A directory or file of this machine that the sandbox sees at `target`.

    Every parent of `source` must be out of the agent's reach, who could swap one for a symlink.
    """

    source: Path
    target: str
    writable: bool = False
    changes: Path | None = None
    """A folder of the run whose `UPPER` takes what commands write here, while `source` stays as it
    is; it is made if need be. Where a sandbox cannot do that, the mount is read-only."""


@dataclass(frozen=True)
class ResourceLimits:
    """What the kernel lets a command use (getrlimit(2)).

    `nproc` holds for all processes of the command together, the others for each of them.
    """

    nproc: int = 512
    """Processes and threads of the command together."""
    fsize: int = 2 * 1024**3
    """Bytes of one file."""
    nofile: int = 4096
    """Open files."""
    cpu: int = 1800
    """Seconds of processor time."""
    memory: int | None = None
    """Bytes of address space; None leaves it open, which runtimes with large maps need."""


@dataclass(frozen=True)
class OperatorLimits:
    """What the operator lets each command take of this machine; no command can raise it."""

    memory: int = 4096 * 1024**2
    """Bytes of memory for one command and all that it starts."""
    disk: int = 10_240 * 1024**2
    """Bytes of disk for the folders that one run may write."""
    files: int = 1_000_000
    """Files and folders that one run may have in those folders."""
    reserve: int = 1024 * 1024**2
    """Bytes that stay free on the disk: with less, no command begins."""


@dataclass(frozen=True)
class SandboxCommand:
    """One command for the sandbox: it sees `mounts` and `environment`, nothing of Fettle's."""

    argv: tuple[str, ...]
    folder: str = "/workspace"
    mounts: tuple[Mount, ...] = ()
    kept: tuple[Path, ...] = ()
    """Folders of its run that it may not write to, but that count in the run's disk."""
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 120.0
    """Seconds."""
    max_output: int = 64_000
    """Bytes of output to keep, half from the start and half from the end."""
    limits: ResourceLimits = ResourceLimits()


@dataclass(frozen=True)
class Probe:
    """One attack that was tried from inside; `held` means that the attack failed."""

    name: str
    held: bool
    detail: str = ""


@dataclass(frozen=True)
class ProbeReport:
    """The attacks tried on a sandbox at start, all of which must have failed."""

    backend: str
    probes: tuple[Probe, ...]
    cause: str = ""
    remedy: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """What the sandbox holds weakly, or by the operator's wish not at all."""

    @property
    def held(self) -> bool:
        """Tell whether every attack failed."""
        return bool(self.probes) and all(probe.held for probe in self.probes)

    def require(self) -> None:
        """Raise ConfigError, with the likely cause and a one-line remedy, unless `held`."""
        if self.held:
            return
        failed = [
            f"{p.name} ({p.detail})" if p.detail else p.name for p in self.probes if not p.held
        ]
        raise ConfigError(
            f"The sandbox `{self.backend}` cannot hold agents here, so Fettle does not start.\n"
            f"Failed: {'; '.join(failed)}.\n"
            f"Likely cause: {self.cause}\n"
            f"Remedy: {self.remedy}"
        )


class Sandbox(Protocol):
    """Runs commands that nobody trusts."""

    @property
    def name(self) -> str:
        """Return the backend's name."""
        ...

    @property
    def level(self) -> Literal["full", "none"]:
        """Return whether the sandbox holds commands."""
        ...

    @property
    def owner(self) -> tuple[int, int]:
        """Return the user and group id, on this machine, of the files that commands write."""
        ...

    def for_run(self, folder: Path, like: Path | None = None) -> Sandbox:
        """Return the same for the run with this folder, as a user of its own where there are any.

        The run's files belong to that user, so whoever works on them asks for it again. `like`: a
        file whose owner it is to be, if no other run is that user.
        """
        ...

    def release(self, folder: Path) -> None:
        """Let another run have the user of the run with this folder, whose files are gone."""
        ...

    async def probe(self) -> ProbeReport:
        """Attack the sandbox as an agent would; the report is kept until restart."""
        ...

    async def run(self, command: SandboxCommand) -> CommandResult:
        """Run the command until it ends, its time is up, or it takes too much.

        Nothing that the command started survives. Raises ConfigError when this machine cannot
        start the sandbox, and TransientError when the machine has no room for a command now.
        """
        ...


def build_environment(
    extra: Mapping[str, str],
    toolchains: Sequence[Path],
    path: str = PATH,
    *,
    memory: int = OperatorLimits.memory,
) -> dict[str, str]:
    """Return the variables of a command: built from nothing, so none of Fettle's is there.

    `memory` is what the command may use, in bytes. Java asks the machine for its size, and would
    be killed long before it thought that it had to tidy up: so it is told the command's.
    https://docs.oracle.com/en/java/javase/17/docs/specs/man/java.html#advanced-garbage-collection-options-for-java
    """
    java = (extra.get("JAVA_TOOL_OPTIONS"), f"-XX:MaxRAM={memory}")
    return {
        "PATH": os.pathsep.join([*(str(tool / "bin") for tool in toolchains), path]),
        "HOME": HOME,
        "USER": "agent",
        "LANG": "C.UTF-8",
        "CI": "1",  # what watches for changes, or asks, unless it is told that nobody is there
        "TMPDIR": SCRATCH,
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",  # this machine's settings are not the repository's
        **extra,
        "JAVA_TOOL_OPTIONS": " ".join(filter(None, java)),
    }
