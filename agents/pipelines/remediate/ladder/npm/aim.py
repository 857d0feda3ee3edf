"""Choose the target of each vulnerable version: npm and pnpm trees hold several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agents.pipelines.remediate.ladder.locked import Entry, Locked
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.places import OMITTED
from agents.pipelines.remediate.ladder.ranges import NPM
from agents.pipelines.remediate.ladder.values import Target


@dataclass(frozen=True)
class Aim:
    """The targets of one climb."""

    targets: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def from_targets(cls, targets: Sequence[Target]) -> Aim:
        """Return the aim that these targets make."""
        return cls({(target.name, target.old): target.new for target in targets})

    @property
    def package(self) -> str:
        """Return which package has to move."""
        return min(name for name, _ in self.targets)

    def find_target(self, entry: Entry) -> str | None:
        """Return where an entry goes; None for one that is not vulnerable."""
        return None if entry.own else self.targets.get((entry.name, entry.version))

    def has_unmoved(self, locked: Locked) -> bool:
        """Return whether some entry has not moved."""
        return any(self.find_target(entry) for entry in locked.entries)

    def find_wanted_version(self, package: str, spec: str, version: str) -> str:
        """Return the version that a requirement has to admit; empty where it is not concerned."""
        olds = [old for name, old in self.targets if name == package]
        if not olds:
            return version
        admitted = [old for old in NPM.order(olds) if specs.admits(spec, old)]
        return self.targets[package, admitted[-1]] if admitted else ""

    def choose_release(self, package: str, spec: str, version: str) -> str:
        """Return which release a range leads to that nobody asked for before."""
        news = NPM.order(new for (name, _), new in self.targets.items() if name == package)
        admitted = [new for new in news if specs.admits(spec, new)]
        return self.find_wanted_version(package, spec, version) or [*admitted, version][0]

    def plan_moves(self, locked: Locked, pins: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Return which copies go to which release: the vulnerable ones, and who holds them back."""
        vulnerable = {e.key for e in locked.entries if self.find_target(e) and e.name in pins}
        moving = {}
        for entry in locked.entries:
            new = self.find_target(entry) or pins.get(entry.name)
            meant = entry.key in vulnerable or not vulnerable.isdisjoint(entry.needs)
            if new and entry.name in pins and meant and _may_move(entry, new):
                moving[entry.key] = (entry.name, new)
        return moving


def _may_move(entry: Entry, new: str) -> bool:
    """Return whether an index provides it, so that a newer release may take its place."""
    web = entry.source == OMITTED or entry.source.startswith(("https://", "http://"))
    return web and not entry.own and NPM.newer(new, entry.version)
