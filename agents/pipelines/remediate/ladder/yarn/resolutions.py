"""Read Yarn's `resolutions`, which overrule what packages ask for, and find Fettle's own there.

https://yarnpkg.com/configuration/manifest#resolutions
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.pipelines.remediate.ladder.npm.files import Table, pairs, table
from agents.pipelines.remediate.ladder.npm.manifest import REASONS, overridden_package
from agents.pipelines.remediate.ladder.values import Target, Unfit

PLACE = ("resolutions",)
_NAME = r"(?:@[^/@]+/)?[^/@]+"
_KEY = re.compile(rf"(?:({_NAME})(?:@([^/]+))?/)?({_NAME})(?:@([^/]+))?")
_MOST = 500


@dataclass(frozen=True)
class Resolution:
    """One entry for a package: whose requirement of it leads where."""

    asked: str
    """The range that is overruled; empty: any."""
    parent: str
    """Who asks for it; empty: anybody."""
    reference: str
    """Which release of that; empty: any."""
    to: str

    def concerns(self, parent: str, reference: str, asked: str) -> bool:
        """Return whether it overrules what a release of a parent asks for."""
        by = not self.parent or (self.parent == parent and _is_same(self.reference, reference))
        return by and _is_same(self.asked, asked)


def list_resolutions(manifest: Table, file: str) -> dict[str, list[Resolution]]:
    """Return the entries of a package.json for each package, in their order: the first that fits.

    What Yarn 3 and 4 cannot read is left out, as they do. Raises Unfit for more than anybody has.
    """
    found: dict[str, list[Resolution]] = {}
    for key, to in pairs(manifest.get(PLACE[0])):
        if (match := _KEY.fullmatch(key)) is not None:
            parent, reference, name, asked = (each or "" for each in match.groups())
            found.setdefault(name, []).append(Resolution(asked, parent, reference, to))
    if sum(map(len, found.values())) > _MOST:
        raise Unfit("unsafe", f"`{file}` has more than {_MOST} resolutions.")
    return found


def find_entries(manifest: Table, targets: Sequence[Target], reason: str) -> dict[str, str]:
    """Return the entries that stand there with this reason, as they were when they were written.

    The ranges that they overrule were those of the lock file then, so that only the file knows
    them. Where there are none, the entry comes back that would overrule the package as a whole.
    """
    names, values = {each.name for each in targets}, [f"^{each.new}" for each in targets]
    there = table(manifest.get(PLACE[0]))
    ours = [
        key
        for key, said in pairs(manifest.get(REASONS))
        if said == reason and overridden_package(key) in names
    ]
    entries = {key: there[key] if there.get(key) in values else values[0] for key in ours}
    return entries or {min(names): values[0]}


def _is_same(said: str, asked: str) -> bool:
    """Return whether an entry means a range: Yarn 4 writes `npm:` before it, people need not."""
    return said in ("", asked) or f"npm:{said}" == asked
