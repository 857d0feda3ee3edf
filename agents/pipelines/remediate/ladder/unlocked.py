"""What ecosystems share where there is no lock file: the requirements themselves decide."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from agents.pipelines.remediate.ladder.ecosystem import WithoutOverrides
from agents.pipelines.remediate.ladder.files import read_text
from agents.pipelines.remediate.ladder.locked import Entry, Locked, Own
from agents.pipelines.remediate.ladder.values import Accepted, Stuck, Unproved
from agents.ports import WorkTree

Lowest = tuple[Own, str]
"""A requirement, and the lowest version that it names; empty where it names none."""

_FAILED = "The requirements of `{file}` cannot be installed together any more: {said}"


class Unlocked(WithoutOverrides):
    """The part of an Ecosystem whose manifests decide alone.

    Of each requirement the lowest version that it admits counts: somebody may have that one.
    """

    tool: str
    proved_by: str
    """The command that looks for a solution, as people write it."""
    locks = False
    no_overrides = (
        "Without a lock file it is not known what other packages bring, so nothing is overruled."
    )

    def __init__(self, manifests: tuple[str, ...], *, seconds: float = 300) -> None:
        self._manifests = manifests
        self._seconds = seconds
        self._original: Mapping[str, str] = {}

    @abstractmethod
    def _list_lowest(self, text: str, file: str) -> Sequence[Lowest]:
        """Return what a manifest asks an index for. Raises Unfit."""

    @abstractmethod
    async def _require(
        self, tree: WorkTree, file: str, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change a manifest so that it admits the version, and nothing before it."""

    @abstractmethod
    async def _find_conflict(self, tree: WorkTree, file: str, text: str) -> str:
        """Return what the tool says against installing all of it together; empty: nothing."""

    @abstractmethod
    def _name_command(self, file: str) -> str:
        """Return the command with which people see whether all of it installs together."""

    @property
    def files(self) -> frozenset[str]:
        """Return the manifests."""
        return frozenset(self._manifests)

    async def read(self, tree: WorkTree) -> Locked:
        """Return the requirements: a pin is its version, a range the lowest version it admits."""
        texts = {file: await read_text(tree, file) for file in self._manifests}
        self._original = self._original or texts
        found = [each for file, text in texts.items() for each in self._list_lowest(text, file)]
        entries = tuple(
            Entry(key=f"{own.file}:{at}", name=own.name, version=lowest)
            for at, (own, lowest) in enumerate(found)
            if lowest
        )
        return Locked(entries=entries, own=tuple(own for own, _ in found))

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Do nothing: the requirements, which were changed, decide."""

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the requirements so that they admit the version, and nothing before it."""
        changes: list[str] = []
        for file in self._manifests:
            changes += await self._require(tree, file, package, version, widen=widen)
        return changes

    async def verify_lock(self, tree: WorkTree, before: Locked, after: Locked) -> Accepted:
        """Prove for each manifest that the tool finds a solution of all that it asks for."""
        for file in self._manifests:
            failed = await self._find_conflict(tree, file, await read_text(tree, file))
            if failed and await self._find_conflict(tree, file, self._original[file]):
                raise Unproved(
                    (file,), self.tool, self._name_command(file), failed, after.list_new(before)
                )
            if failed:
                raise Stuck(_FAILED.format(file=file, said=failed))
        return Accepted(commands=(self.proved_by,))
