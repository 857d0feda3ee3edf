"""The dependencies that were installed for a work tree, as its commands see them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agents.errors import ToolError
from agents.policy import Policy
from agents.ports import Kit, SetupResult
from app.sandbox.port import Mount, SandboxCommand

_WITH_PATH = 'PATH="$1:$PATH"; export PATH; shift; exec "$@"'


def _as_it_is(command: SandboxCommand) -> SandboxCommand:
    return command


@dataclass(frozen=True)
class CommandMounts:
    """What is added to each command of a work tree. None of it ever becomes part of a commit."""

    mounts: tuple[Mount, ...] = ()
    """Outside of the tree."""
    within: Mapping[str, Path] = field(default_factory=dict)
    """Folder of the tree, like `node_modules`, and what is shown there, read-only."""
    scratch: tuple[str, ...] = ()
    """Folders in those that tools write to: each run has its own."""
    copies: Mapping[str, Path] = field(default_factory=dict)
    """Ignored file of the tree, and what it begins as: each run has its own."""
    environment: Mapping[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    """Folders that come first on PATH."""
    wrap: Callable[[SandboxCommand], SandboxCommand] = _as_it_is
    """The last word on each command."""
    writable: bool = False
    """What is within the tree may be changed: it is this one command's own."""
    added: tuple[str, ...] = ()
    """The commands that installed something beside the set-up, for this run alone."""

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Return the command line with these folders first on the sandbox's PATH."""
        if not self.path:
            return tuple(argv)
        return ("/bin/sh", "-c", _WITH_PATH, "sh", ":".join(self.path), *argv)


class DependencyCopy(Protocol):
    """A copy of what is installed, for one command to add to."""

    @property
    def furnishing(self) -> CommandMounts:
        """Return the copy, with a way to the package indexes."""
        ...

    @property
    def note(self) -> str:
        """Return what was refused on that way, for whoever reads the command's output."""
        ...

    async def keep(self, command: str) -> None:
        """Let later commands of this run see it."""
        ...


class LentTools(Protocol):
    """Kits for one command of ours, and a way to the package indexes."""

    @property
    def furnishing(self) -> CommandMounts:
        """Return them."""
        ...

    @property
    def note(self) -> str:
        """Return what could not be lent and what was refused, for whoever reads the output."""
        ...


class DependencyInstaller(Protocol):
    """Installs what one run's repository needs, and knows where it is."""

    async def set_up(self, base: str, policy: Policy) -> SetupResult:
        """Have it installed, and say what came of it."""
        ...

    async def furnishing(self, base: str, policy: Policy) -> CommandMounts:
        """Return what was installed; it is there for the next command.

        Raises TransientError when it was lost and cannot be installed again.
        """
        ...

    def adding(
        self, base: str, policy: Policy, argv: Sequence[str]
    ) -> AbstractAsyncContextManager[DependencyCopy]:
        """Give what this command may add to; what is not kept when the block ends is gone.

        Raises ToolError where no sandbox can hold a command to the indexes alone.
        """
        ...

    def lending(
        self, argv: Sequence[str], kits: Sequence[Kit]
    ) -> AbstractAsyncContextManager[LentTools]:
        """Lend kits to a command of ours that reads from indexes; it leaves nothing behind.

        Raises ToolError where no sandbox can hold a command to the indexes alone.
        """
        ...

    async def forget(self) -> None:
        """Drop what served this run alone."""
        ...


async def unfurnished() -> CommandMounts:
    """Return what adds nothing: for work trees that no agent works in."""
    return CommandMounts()


@asynccontextmanager
async def nothing_to_add_to(_: Sequence[str]) -> AsyncIterator[DependencyCopy]:
    """Refuse: in such work trees nobody installs. Raises ToolError."""
    raise ToolError("Nothing can be installed here.")
    yield  # what makes it a generator


@asynccontextmanager
async def nothing_to_lend(_: Sequence[str], __: Sequence[Kit]) -> AsyncIterator[LentTools]:
    """Refuse: from such work trees nobody asks. Raises ToolError."""
    raise ToolError("No package index is asked here.")
    yield  # what makes it a generator
