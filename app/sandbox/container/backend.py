"""The container sandbox: each command in a container of podman or docker, without bubblewrap."""

from __future__ import annotations

import asyncio
import re
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal, NoReturn

from agents.errors import ConfigError, TransientError
from agents.ports import CommandResult
from app.sandbox import escape_probe as probe
from app.sandbox.container.engines import (
    PATH,
    ContainerEngine,
    ask,
    build_client_environment,
    find_engines,
)
from app.sandbox.container.errors import diagnose
from app.sandbox.container.images import find_image
from app.sandbox.container.options import (
    ContainerConfig,
    build_create_arguments,
    wrap_argv,
    write_files,
)
from app.sandbox.container.orphans import build_labels, remove_container, remove_orphans
from app.sandbox.disk_quota import DiskQuota
from app.sandbox.output_buffer import HeadTailBuffer
from app.sandbox.parent_watch import build_pipe_guard, open_handshake
from app.sandbox.path_permissions import WritablePaths
from app.sandbox.port import NO_LAYERS, OperatorLimits, Probe, ProbeReport, SandboxCommand
from app.sandbox.privilege_drop import choose_owner
from app.sandbox.process_group import FLOOD, ProcessExit, build_result, run_group
from app.sandbox.user_slots import UserSlots, describe_users

NEEDED = ("bash", "cat", "git", "perl", "timeout")
"""Programs without which an image cannot take this machine's place."""
NEEDED_IN_IMAGES = ("bash", "cat", "env", "timeout", "/usr/bin/perl")
"""Programs without which no command of a run can be run in an image: perl bridges a set-up to the
package indexes, and tries the sandbox at its start. Git is run elsewhere."""
_MAKING = 60.0


class Container:
    """One container for each command. Its image is the operator's, its files are the run's."""

    name = "container"
    level: Literal["full"] = "full"

    def __init__(
        self,
        sandbox_uid: int,
        toolchains: Sequence[Path] = (),
        bounds: OperatorLimits | None = None,
        *,
        image: str,
        path: str = PATH,
        program: Path | None = None,
        needed: Sequence[str] = NEEDED,
        group: int | None = None,
        find: Callable[[], Awaitable[ContainerConfig]] | None = None,
    ) -> None:
        """`group` is the user's, where it is another number than `sandbox_uid`.

        `path`: where to look for engines, unless `program` is one. `needed`: what the image must
        have. `find`: asks for the engine, where another sandbox knows it already.
        """
        self.owner: tuple[int, int] = choose_owner(sandbox_uid, group)
        self._toolchains = tuple(toolchains)
        self._image = image
        self._bounds = bounds or OperatorLimits()
        self._disk = DiskQuota(self._bounds)
        self._slots = UserSlots.find(self.owner[1])
        self._of_runs: dict[int, Container] = {}
        self._find = find or self._find_config
        self._writable_paths = WritablePaths(self.owner, self._slots.users if self._slots else ())
        self._path, self._program = path, program
        self._needed = needed
        self._config: ContainerConfig | None = None
        self._finding = asyncio.Lock()
        self._report: ProbeReport | None = None

    def for_run(self, folder: Path, like: Path | None = None) -> Container:
        """Return the same for the run with this folder, as a user of its own where Fettle is root.

        All have one group, by which they read what Fettle shows to each of them.
        """
        if self._slots is None:
            return self
        return self.for_user(self._slots.choose(folder, like))

    def for_user(self, uid: int) -> Container:
        """Return the same for commands that are this user."""
        if uid == self.owner[0]:
            return self
        if uid not in self._of_runs:
            self._of_runs[uid] = Container(
                uid,
                self._toolchains,
                self._bounds,
                image=self._image,
                group=self.owner[1],
                find=self._find,
            )
        return self._of_runs[uid]

    def release(self, folder: Path) -> None:
        """Let another run have the user of the run with this folder, whose files are gone."""
        if self._slots is not None:
            self._slots.release(folder)

    async def probe(self) -> ProbeReport:
        """Attack the sandbox as an agent would; the report is kept until restart."""
        if self._report is None:
            try:
                self._report = await self._check_image() or await self._attack()
            except ConfigError as error:
                self._report = self._report_start_error(error)
        return self._report

    async def run(self, command: SandboxCommand) -> CommandResult:
        """Run the command until it ends, its time is up, or it takes too much; nothing survives.

        Raises ConfigError when the engine makes no container, TransientError when it may later.
        """
        config = replace(await self._find(), owner=self.owner)
        started = time.monotonic()
        self._writable_paths.check(command.mounts)
        disk = self._disk.allow(command)
        name = f"fettle-{secrets.token_hex(8)}"
        output = HeadTailBuffer(command.max_output, FLOOD)
        ended: ProcessExit | None = None
        try:
            with _write_engine_files(config) as files, open_handshake(output) as (out, guard_end):
                await self._create(config, name, files, command)
                ended = await run_group(
                    [config.engine.program, "start", "--attach", "--interactive", name],
                    environment=build_client_environment(),
                    timeout=command.timeout,
                    out=out,
                    stdin=guard_end,
                    watch=disk.watch,
                )
        finally:
            # Ending the engine's command line ends no container: that lives elsewhere.
            if ended is None or ended.why != "exit" or ended.code < 0 or not out.begun:
                await asyncio.shield(remove_container(config.engine, name))
        if ended.why == "exit" and not out.begun:
            self._raise_start_error(config.engine, output.text())
        full = ended.why == "exit" and await disk.was_exceeded()
        return build_result(ended, output.text(), time.monotonic() - started, disk=full)

    async def _create(
        self, config: ContainerConfig, name: str, files: Path, command: SandboxCommand
    ) -> None:
        arguments = build_create_arguments(config, name, build_labels(), files, command)
        inside = wrap_argv(config, command, build_pipe_guard(command.argv))
        made = await ask(config.engine.program, *arguments, *inside, timeout=_MAKING)
        if made.code:
            self._raise_start_error(config.engine, made.text)

    async def _find_config(self) -> ContainerConfig:
        """Find the engine once, and remove the containers that a killed Fettle left in it."""
        async with self._finding:
            if self._config is None:
                found, silent = await find_engines(self._path, self._program)
                if not found:
                    raise ConfigError(
                        f"No container engine answers: {'; '.join(silent)}.\n"
                        f"Likely cause: none is installed, or it is not running\n"
                        f"Remedy: run `apt-get install podman`, or start docker"
                    )
                engine = found[0]
                await remove_orphans(engine)
                self._config = ContainerConfig(
                    engine,
                    self._image,
                    self.owner,
                    self._toolchains,
                    self._bounds.memory,
                    await find_image(engine, self._image),
                )
        return self._config

    async def _check_image(self) -> ProbeReport | None:
        """Return a report of the programs that the image lacks; None when it has all."""
        script = 'for p; do command -v "$p" >/dev/null || echo "$p"; done'
        argv = ("sh", "-c", script, "sh", *self._needed)
        asked = SandboxCommand(argv, folder="/", timeout=_MAKING)
        lacking = (await self.run(asked)).output.split()
        if not lacking:
            return None
        return ProbeReport(
            self.name,
            (Probe("the image has what is needed", held=False, detail=", ".join(lacking)),),
            f"the image `{self._image}` lacks {', '.join(lacking)}",
            "set FETTLE_SANDBOX_IMAGE to one that has them, such as `python:3` or your own",
        )

    async def _attack(self) -> ProbeReport:
        asked = SandboxCommand(("cat", "/proc/net/dev"), folder="/", timeout=_MAKING)
        devices = re.findall(r"^ *([^\s:|]+):", (await self.run(asked)).output, re.MULTILINE)
        others = [name for name in devices if name != "lo"]
        network = Probe("see a network", held=devices != [] and not others, detail=" ".join(others))
        local = (await self._find()).local
        report = await probe.attack(self, known=local.variables if local else ())
        notes = (
            self._disk.describe(deleted=False),
            describe_users(self._slots),
            NO_LAYERS.format(why="containers of an engine are made without"),
        )
        probes = (*report.probes, network)
        return self._name_causes(replace(report, probes=probes, notes=notes))

    def _report_start_error(self, error: ConfigError) -> ProbeReport:
        what, _, why = str(error).partition("\nLikely cause: ")
        cause, _, remedy = why.partition("\nRemedy: ")
        probes = (Probe("the sandbox starts", held=False, detail=what),)
        return ProbeReport(self.name, probes, cause, remedy)

    def _name_causes(self, report: ProbeReport) -> ProbeReport:
        """Return the report with the likely causes of an engine instead of bubblewrap's."""
        if report.held or report.probes[0].name == "the sandbox starts":
            return report
        if report.probes[0].held:
            cause = "the engine lets through what it should hold"
            return replace(report, cause=cause, remedy="update the container engine and the kernel")
        return replace(
            report,
            cause="the engine shows other folders than Fettle's, or maps its users to others",
            remedy="let engine and Fettle run on one machine, or install bubblewrap",
        )

    def _raise_start_error(self, engine: ContainerEngine, text: str) -> NoReturn:
        """Raise TransientError or ConfigError, which says why the command never began."""
        if "temporarily unavailable" in text:
            raise TransientError(f"The sandbox could not start: {text[-300:].strip()}")
        cause, remedy = diagnose(text, engine.name, self._image)
        raise ConfigError(
            f"The sandbox `{self.name}` ({engine.name}) does not start: {text[-500:].strip()}\n"
            f"Likely cause: {cause}\nRemedy: {remedy}"
        )


@contextmanager
def _write_engine_files(config: ContainerConfig) -> Iterator[Path]:
    """Yield a folder with the files that the engine reads for one container."""
    with tempfile.TemporaryDirectory(prefix="fettle-container-") as folder:
        write_files(Path(folder), config.owner_inside)
        yield Path(folder)
