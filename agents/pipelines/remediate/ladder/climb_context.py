"""The starting point of every level: original files, vulnerable versions, targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.pipelines.remediate.ladder.ecosystem import Ecosystem
from agents.pipelines.remediate.ladder.locked import Locked
from agents.pipelines.remediate.ladder.ranges import Ranges
from agents.pipelines.remediate.ladder.values import Group, Stuck, Target, Terms
from agents.ports import WorkTree

REJECTED = 5
"""How many releases may be objected to, one after the other, before the search ends."""


@dataclass(frozen=True)
class TrialMove:
    """A move that gets every copy out of the ranges."""

    changes: tuple[str, ...]
    """The changes of requirements, for people."""
    tree: str
    """The git tree id of the files."""


@dataclass(frozen=True)
class ClimbContext:
    """One climb's circumstances; nothing of them changes from rung to rung."""

    tree: WorkTree
    ecosystem: Ecosystem
    group: Group
    terms: Terms
    name: str
    """The package as lock files write it."""
    ranges: Ranges
    before: Locked
    targets: tuple[Target, ...]
    start: str
    """The git tree id of the files as they were."""

    @property
    def pins(self) -> dict[str, str]:
        """Return the package with the newest of its targets: resolvers take one for each name."""
        order = self.ranges.scheme.order(target.new for target in self.targets)
        return {self.name: order[-1]}

    async def move(
        self, pins: Mapping[str, str], free: Sequence[str] = (), *, widen: bool | None = None
    ) -> list[str]:
        """Resolve with these pins; with `widen` set, change own requirements first.

        Returns the changes of requirements, for people. Raises Stuck.
        """
        changes: list[str] = []
        if widen is not None:
            for name, version in pins.items():
                changes += await self.ecosystem.require(self.tree, name, version, widen=widen)
        await self.ecosystem.relock(self.tree, pins, free)
        return changes

    async def try_to_move(
        self, pins: Mapping[str, str], free: Sequence[str] = (), *, widen: bool | None = None
    ) -> TrialMove | None:
        """Return what moving so makes, if every copy gets out of the ranges; None if it does not.

        The files are put back.
        """
        try:
            changes = await self.move(pins, free, widen=widen)
            after = await self.ecosystem.read(self.tree)
            made = await self.tree.snapshot() if not self.list_vulnerable(after) else ""
        except Stuck:
            return None
        finally:
            await self.put_back()
        return TrialMove(tuple(changes), made) if made else None

    def list_vulnerable(self, locked: Locked) -> list[str]:
        """Return the versions of the package that are still vulnerable."""
        copies = locked.copies(self.name)
        return [copy.version for copy in copies if self.ranges.hold(copy.version)]

    async def put_back(self) -> None:
        """Have the files as they were."""
        await self.tree.restore(self.start)
