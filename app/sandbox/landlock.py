"""Step 8: the degraded sandbox, by Landlock and seccomp, where namespaces cannot be had.

Only by the operator's explicit wish: processes of this machine can be seen, sockets cannot be made
at all, and paths are translated instead of mounted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agents.errors import ConfigError
from agents.ports import CommandResult
from app.sandbox import escape_probe as probe
from app.sandbox.landlock_rules import Rights, system_rules
from app.sandbox.none.supervisor import landlock_abi
from app.sandbox.port import Mount, OperatorLimits, ProbeReport, SandboxCommand
from app.sandbox.seccomp import build_filter
from app.sandbox.unmounted import Holds, Unmounted, scratch_folder

OLDEST, SCOPED = 3, 6
"""The versions of Landlock that hold truncation, and signals to processes of the same user."""


class Landlock:
    """Holds files by Landlock, sockets and kernel calls by seccomp, and nothing by namespaces."""

    name = "landlock"
    level: Literal["degraded"] = "degraded"
    not_held = ("see our processes", "see other processes")
    """The attacks of the probe that this kind of sandbox cannot hold; named in every report."""
    limits = (
        "Commands see the numbers and command lines of this machine's processes.",
        "Commands cannot make sockets, not even to reach themselves; tests that need one fail.",
        "Commands can change permissions, not content, of files of other runs at the same time.",
        "Memory is limited for each process, not for a command as a whole.",
        "Scratch files of a command are bounded by the disk alone.",
    )

    def __init__(
        self,
        sandbox_uid: int,
        toolchains: Sequence[Path] = (),
        bounds: OperatorLimits | None = None,
    ) -> None:
        self._ground = Unmounted(sandbox_uid, toolchains, bounds)
        self.owner = self._ground.owner
        self._abi = landlock_abi()
        self._report: ProbeReport | None = None

    async def probe(self) -> ProbeReport:
        """Try to break out, as an agent would; the answer is kept until restart."""
        if self._report is None:
            self._ground.require_toolchains()
            self._report = self._admitting(await probe.attack(self))
        return self._report

    async def run(self, command: SandboxCommand) -> CommandResult:
        """Run the command until it ends, its time is up, or it takes too much; nothing survives."""
        rights = Rights(self._require_kernel())
        with scratch_folder(self.owner) as scratch:
            own = (Mount(scratch / "home", "", True), Mount(scratch / "tmp", "", True))
            tools = (Mount(tool, "") for tool in self._ground.toolchains)
            granted = rights.of((*tools, *command.mounts, *own))
            # Landlock does not hold chmod: where nothing may change, that is refused as a call.
            modes = any(mount.writable for mount in command.mounts)
            holds = Holds(
                rights.handled,
                (*system_rules(rights), *granted),
                build_filter(sockets=False, modes=modes),
            )
            return await self._ground.run(command, scratch, holds)

    def _require_kernel(self) -> int:
        """Return the kernel's version of Landlock. Raises ConfigError when it holds too little."""
        if self._abi >= SCOPED or (self._abi >= OLDEST and os.geteuid() == 0):
            return self._abi
        has = f"version {self._abi}" if self._abi else "none (switched off, or older than 5.13)"
        raise ConfigError(
            f"The sandbox `{self.name}` needs Landlock version {OLDEST} (Linux 6.2) when Fettle "
            f"runs as root, else {SCOPED} (Linux 6.12); this kernel has {has}.\n"
            f"Likely cause: an old kernel, or `landlock` is missing in the boot option `lsm=`\n"
            f"Remedy: use a newer kernel, or FETTLE_SANDBOX=container"
        )

    def _admitting(self, report: ProbeReport) -> ProbeReport:
        """Return the report with what is known not to be held as notes instead of failures."""
        known = [p for p in report.probes if not p.held and p.name in self.not_held]
        probes = tuple(p for p in report.probes if p not in known)
        notes = tuple(f"Does not hold: {p.name}." for p in known)
        held = all(p.held for p in probes)
        cause, remedy = ("", "") if held else (report.cause, report.remedy)
        return replace(
            report, probes=probes, cause=cause, remedy=remedy, notes=(*notes, *self.limits)
        )
