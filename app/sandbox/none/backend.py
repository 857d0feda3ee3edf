"""Step 8: no sandbox at all: for operators who said twice that they want it so.

What stays: another user when Fettle is root, no new privileges, an environment from nothing,
limits, and an end for all that a command started. What only reads works on a copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agents.errors import RunError
from agents.ports import CommandResult
from app.sandbox import escape_probe as probe
from app.sandbox.none.file_copies import copy_tree, fingerprint
from app.sandbox.port import Mount, OperatorLimits, ProbeReport, SandboxCommand
from app.sandbox.unmounted import Holds, Unmounted, scratch_folder

_AGENTS = "/workspace"
"""Where commands of agents work. Elsewhere only Fettle's own scripts do, which keep to reading."""


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
        self._ground = Unmounted(sandbox_uid, toolchains, bounds)
        self.owner = self._ground.owner
        self._report: ProbeReport | None = None

    async def probe(self) -> ProbeReport:
        """Try to break out, as an agent would; the answer is kept until restart."""
        if self._report is None:
            self._ground.require_toolchains()
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

        Raises RunError when a command that may only read has changed the work tree.
        """
        with scratch_folder(self.owner) as scratch:
            guarded = [m for m in command.mounts if self._is_guarded(m)]
            before = await _fingerprints(guarded)
            copies = {m: await _copied(m, scratch / f"copy{n}") for n, m in enumerate(guarded)}
            own = replace(command, mounts=tuple(copies.get(m, m) for m in command.mounts))
            result = await self._ground.run(own, scratch, Holds())
            if await _fingerprints(guarded) != before:
                raise RunError(
                    "A command that may only read changed the run's files, which nothing prevents "
                    "with FETTLE_SANDBOX=none. The run ends here: look at what the issue made it "
                    "do, and use a sandbox that holds."
                )
            return result

    def _is_guarded(self, mount: Mount) -> bool:
        """Tell whether an agent could write to what it may only read."""
        inside = Path(mount.target).is_relative_to(_AGENTS)
        return inside and not mount.writable and mount.source.stat().st_uid == self.owner[0]


async def _fingerprints(mounts: Sequence[Mount]) -> list[str]:
    return [await asyncio.to_thread(fingerprint, mount.source) for mount in mounts]


async def _copied(mount: Mount, place: Path) -> Mount:
    await copy_tree(mount.source, place)
    return Mount(place, mount.target, writable=True)
