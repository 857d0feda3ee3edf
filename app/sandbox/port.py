"""The port of every sandbox: what to run, what it may see, and how its hold is proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from agents.errors import ConfigError
from agents.ports import CommandResult


@dataclass(frozen=True)
class Mount:
    """A directory or file of this machine that the sandbox sees at `target`.

    Every parent of `source` must be out of the agent's reach: it could swap one for a symlink.
    """

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True)
class ResourceLimits:
    """What the kernel lets a command use. All but the first hold for each of its processes."""

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
    """What the operator lets commands take of this machine, whatever they ask for."""

    memory: int = 4096 * 1024**2
    """Bytes for one command and all that it starts."""
    disk: int = 10_240 * 1024**2
    """Bytes for the folders that one run may write."""
    reserve: int = 1024 * 1024**2
    """Bytes that stay free on their disk: with less, no command begins."""


@dataclass(frozen=True)
class SandboxCommand:
    """One command for the sandbox. It sees `mounts` and `environment`, and nothing of ours."""

    argv: tuple[str, ...]
    folder: str = "/workspace"
    mounts: tuple[Mount, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 120.0
    """Seconds."""
    max_output: int = 64_000
    """Bytes of output to keep: half from the start, half from the end."""
    limits: ResourceLimits = ResourceLimits()


@dataclass(frozen=True)
class Probe:
    """One attack that was tried from inside; `held` means that it came to nothing."""

    name: str
    held: bool
    detail: str = ""


@dataclass(frozen=True)
class ProbeReport:
    """The attacks tried on a sandbox at start. All must have come to nothing."""

    backend: str
    probes: tuple[Probe, ...]
    cause: str = ""
    remedy: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """What it holds weakly or not at all, although it can be trusted."""

    @property
    def held(self) -> bool:
        """Tell whether the sandbox can be trusted with agents."""
        return bool(self.probes) and all(probe.held for probe in self.probes)

    def require(self) -> None:
        """Raise ConfigError, with the likely cause and a one-line remedy, unless it held."""
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
    def level(self) -> Literal["full", "degraded", "none"]:
        """Return how much it holds."""
        ...

    @property
    def owner(self) -> tuple[int, int]:
        """Return the user and group id, on this machine, of the files that commands write."""
        ...

    async def probe(self) -> ProbeReport:
        """Try to break out, as an agent would; the answer is kept until restart."""
        ...

    async def run(self, command: SandboxCommand) -> CommandResult:
        """Run the command until it ends, its time is up, or it floods us; nothing survives it.

        Raises ConfigError when this machine cannot start the sandbox.
        """
        ...
