"""The dependencies that were installed for a work tree, as its commands see them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agents.errors import ToolError
from agents.policy import Policy
from agents.ports import Kit, RunImage, SetupResult
from app.sandbox.port import Mount, Sandbox, SandboxCommand

_WITH_PATH = 'PATH="$1:$PATH"; export PATH; shift; exec "$@"'


def _as_it_is(command: SandboxCommand) -> SandboxCommand:
    return command


@dataclass(frozen=True)
class CommandMounts:
    """Mounts, variables and folders added to each command of a work tree, but to no commit."""

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
    """A copy of the installed dependencies that one command may change."""

    @property
    def furnishing(self) -> CommandMounts:
        """Return the copy's mounts, with access to the package indexes."""
        ...

    @property
    def note(self) -> str:
        """Return the refused network requests, for the reader of the command's output."""
        ...

    async def keep(self, command: str) -> None:
        """Let later commands of this run see the copy."""
        ...


class LentTools(Protocol):
    """Fettle's package tools for one command, with access to a package index."""

    @property
    def furnishing(self) -> CommandMounts:
        """Return the tools' mounts."""
        ...

    @property
    def note(self) -> str:
        """Return the missing tools and refused requests, for the reader of the output."""
        ...


class DependencyInstaller(Protocol):
    """Installs the dependencies of one run's repository."""

    async def find_image(self, wanted: RunImage) -> RunImage:
        """Return the image with its id, or with why it is not used here."""
        ...

    async def enter(self, image: RunImage | None) -> DependencyInstaller:
        """Return the installer in the image that the run's commands run in, itself for none.

        Raises RunError where that image is gone.
        """
        ...

    def place(self, own: Sandbox) -> Sandbox:
        """Return where commands run in the image as the user of this sandbox; itself for none."""
        ...

    async def set_up(self, base: str, policy: Policy, *, own: bool = False) -> SetupResult:
        """Install the dependencies as of `base`, and report on it.

        `own`: that is a commit of the run's own, and what is installed for it serves no other run.
        """
        ...

    async def find_mounts(self, base: str, policy: Policy) -> CommandMounts:
        """Return the installed dependencies for the next command.

        Raises TransientError when they were lost and cannot be installed again.
        """
        ...

    def open_addition(
        self, base: str, policy: Policy, sandbox: Sandbox, argv: Sequence[str]
    ) -> AbstractAsyncContextManager[DependencyCopy]:
        """Lend a copy for this command to change; without `keep`, it is dropped at the end.

        `sandbox`: that of the run, whose user the copy is for.

        Raises ToolError where no sandbox can restrict a command to the package indexes.
        """
        ...

    def lend_kits(
        self, base: str, sandbox: Sandbox, argv: Sequence[str], kits: Sequence[Kit]
    ) -> AbstractAsyncContextManager[LentTools]:
        """Lend kits to a command of Fettle's that reads from indexes; it leaves nothing behind.

        It has the toolchains that the repository wants as of `base`.
        Raises ToolError where no sandbox can restrict a command to the package indexes.
        """
        ...

    async def forget(self) -> None:
        """Drop what was installed for this run alone."""
        ...


async def make_empty_mounts(_: str) -> CommandMounts:
    """Return no dependencies, for work trees in which no agent works."""
    return CommandMounts()


@asynccontextmanager
async def nothing_to_add_to(_: str, __: Sequence[str]) -> AsyncIterator[DependencyCopy]:
    """Raise ToolError: nothing can be installed for such a work tree."""
    raise ToolError("Nothing can be installed here.")
    yield  # what makes it a generator


@asynccontextmanager
async def nothing_to_lend(_: Sequence[str], __: Sequence[Kit]) -> AsyncIterator[LentTools]:
    """Raise ToolError: no tools are lent to such a work tree."""
    raise ToolError("No package index is asked here.")
    yield  # what makes it a generator
