"""The files of one commit as a work tree that is only read, before any work tree is opened."""

# ruff: noqa: ARG002 the arguments are those of the port

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from agents.errors import ToolError
from agents.ports import CommandResult, Kit, Network, RunRepository


@dataclass(frozen=True)
class Committed:
    """The port WorkTree, as far as it can be read from a commit; the rest raises ToolError.

    A lock file can be read so without a sandbox, and before dependencies are installed.
    """

    source: RunRepository
    commit_id: str

    async def read(self, path: str, *, limit: int = 1_000_000) -> bytes:
        """Return a file's bytes; ToolError where there is none, or over the limit."""
        data = await self.source.show(self.commit_id, path)
        if data is None:
            raise ToolError(f"{path} does not exist.")
        if len(data) > limit:
            raise ToolError(f"{path} is larger than {limit} bytes.")
        return data

    async def show(self, revision: str, path: str) -> bytes | None:
        """Return a file of a commit, or None."""
        return await self.source.show(revision, path)

    async def use_set_up(self, commit: str) -> None:
        """Refuse."""
        _refuse()

    async def list_install_commands(self) -> Sequence[str]:
        """Return nothing: no command runs here."""
        return ()

    async def snapshot(self) -> str:
        """Return the commit: it does not change."""
        return self.commit_id

    async def write(self, path: str, data: bytes) -> None:
        """Refuse."""
        _refuse()

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        writable: bool = True,
        max_output: int = 64_000,
        network: Network = "none",
    ) -> CommandResult:
        """Refuse."""
        _refuse()

    async def ask(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        kits: Sequence[Kit] = (),
        max_output: int = 64_000,
        shared_home: str = "",
    ) -> CommandResult:
        """Refuse."""
        _refuse()

    async def converse(
        self, argv: Sequence[str], line: bytes, *, timeout: float, kits: Sequence[Kit] = ()
    ) -> bytes | None:
        """Refuse."""
        _refuse()

    async def restore(self, tree: str, *, pristine: bool = False) -> None:
        """Refuse."""
        _refuse()

    async def commit(
        self,
        tree: str,
        parent: str,
        message: str,
        *,
        permitted: Mapping[str, str] | None = None,
        merging: str = "",
        proposes_policy: bool = False,
        moves_action: str = "",
    ) -> str:
        """Refuse."""
        _refuse()

    async def diff(self, old: str, new: str, *, context: int = 3) -> str:
        """Refuse."""
        _refuse()

    async def list_changed_paths(self, old: str, new: str) -> list[str]:
        """Refuse."""
        _refuse()


def _refuse() -> NoReturn:
    raise ToolError("These files are only read: nothing is run or changed among them.")
