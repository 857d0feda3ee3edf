"""Run commands in the sandbox on the files of a work tree."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from agents.ports import CommandResult, Kit, Network
from app.git.worktree.installed_dependencies import CommandMounts, DependencyCopy
from app.git.worktree.overlay import has_written, lay_folders, lay_room, lay_tree
from app.git.worktree.residents import Lend, Residents
from app.git.worktree.untrusted_git import RunFolders
from app.sandbox.port import Mount, ResourceLimits, Sandbox, SandboxCommand

Furnish = Callable[[str], Awaitable[CommandMounts]]
"""Gives what was installed for this commit."""
Add = Callable[[str, Sequence[str]], AbstractAsyncContextManager[DependencyCopy]]
"""Gives what this command may add to, of what was installed for this commit."""
_SHELL = "bash"
"""What agents' commands and checks are run by."""
_DROPPED = "[This stage only reads: what the command wrote into the repository is dropped.]\n"
_NOT_KEPT = "[It did not end by itself, so nothing of what it installed is kept.]\n"


@dataclass(frozen=True)
class SandboxCommands:
    """Runs commands in the sandbox on one work tree's files."""

    objects: Path
    """The objects of the mirror, which commands may read."""
    places: RunFolders
    sandbox: Sandbox
    own: Sandbox
    """That of the machine, in which Fettle searches with programs that no image has to have."""
    furnish: Furnish
    add: Add
    lend: Lend
    on_command: Callable[[float], object]

    @cached_property
    def residents(self) -> Residents:
        """Return the programs of Fettle's that stay for several questions to package indexes."""
        tree = Mount(self.places.files, "/workspace", writable=True)
        return Residents(self.sandbox, self.lend, (tree, *self._list_git_mounts(writable=True)))

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        writable: bool,
        max_output: int,
        network: Network,
        set_up_for: str,
    ) -> CommandResult:
        """Run a command with a commit's dependencies; with `indexes` it may install more."""
        if network == "none":
            furnishing = await self.furnish(set_up_for)
            return await self._run(argv, furnishing, timeout, writable, max_output)
        async with self.add(set_up_for, argv) as addition:
            result = await self._run(argv, addition.furnishing, timeout, writable, max_output)
            notes = addition.note
            if result.why == "exit":
                await addition.keep(argv[-1])
            else:
                notes += _NOT_KEPT
        return replace(result, output=f"{notes}{result.output}")

    async def ask(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        kits: Sequence[Kit],
        max_output: int,
        shared_home: str = "",
    ) -> CommandResult:
        """Run a command that reads from package indexes with these kits; its files are dropped.

        `shared_home`: its home folder is that of those with this name before it.
        """
        if shared_home:
            run = self.residents.run
            result = await run(
                argv[-1], named=shared_home, timeout=timeout, kits=kits, max_output=max_output
            )
            if result is not None:
                self.on_command(result.seconds)
                return result
        async with self.lend(argv, kits) as lent:
            # Not the run's own home, where an agent may have left settings for Fettle's tools.
            furnishing = lent.furnishing
            result = await self._run(argv, furnishing, timeout, True, max_output, asks=True)
            notes = lent.note
        return replace(result, output=f"{notes}{result.output}")

    async def _run(
        self,
        argv: Sequence[str],
        furnishing: CommandMounts,
        timeout: float,
        writable: bool,
        max_output: int,
        *,
        asks: bool = False,
    ) -> CommandResult:
        owner = self.sandbox.owner
        script = argv[0] == _SHELL  # else it is a search of Fettle's, which writes nothing
        laid: Sequence[Mount] = furnishing.mounts
        if script and not asks:
            laid = await asyncio.to_thread(lay_room, self.places, furnishing, owner)
        added, notes = lay_folders(self.places, furnishing, owner)
        layered = script and not writable
        async with lay_tree(self.places, writable=writable, layered=layered) as tree:
            mounts = (
                *laid,
                tree,
                *self._list_git_mounts(writable=writable),
                *added,
            )
            command = SandboxCommand(
                argv=furnishing.argv(argv),
                mounts=mounts,
                kept=() if writable else (self.places.files, self.places.agent_git),
                environment=furnishing.environment,
                timeout=timeout,
                max_output=max_output,
                limits=ResourceLimits(cpu=60 + int(timeout) * (os.cpu_count() or 1)),
            )
            sandbox = self.sandbox if script or asks else self.own
            result = await sandbox.run(furnishing.wrap(command))
            notes += _DROPPED if has_written(tree) else ""
        self.on_command(result.seconds)
        return replace(result, output=f"{notes}{result.output}")

    def _list_git_mounts(self, *, writable: bool) -> tuple[Mount, ...]:
        own = Mount(self.places.agent_git, "/workspace/.git", writable)
        return own, Mount(self.objects, "/git/objects")
