"""npm without a lock file: what package.json asks for."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Collection, Sequence

from agents.pipelines.remediate.ladder.npm.files import (
    LOCKS,
    find_nearest_lock,
    flags,
    parse_json,
    read_registry,
)
from agents.pipelines.remediate.ladder.npm.manifest import list_lowest, require
from agents.pipelines.remediate.ladder.npm.registry import NpmIndex, Registry
from agents.pipelines.remediate.ladder.npm.tools import Staged, attempt, harmless
from agents.pipelines.remediate.ladder.ranges import NPM, Scheme
from agents.pipelines.remediate.ladder.unlocked import Lowest, Unlocked
from agents.pipelines.remediate.ladder.values import Group, describe_failure
from agents.ports import WorkTree


def find(paths: frozenset[str], group: Group) -> UnlockedNpm | None:
    """Return the package.json files that the alerts name, where no lock file holds for them."""
    named = [path for path in group.manifests if path in paths]
    known = all(posixpath.basename(path) == "package.json" for path in named)
    if group.ecosystem != "npm" or not named or len(named) != len(group.manifests) or not known:
        return None
    if any(find_nearest_lock(paths, posixpath.dirname(path), LOCKS) for path in named):
        return None
    return UnlockedNpm(tuple(dict.fromkeys(named)))


class UnlockedNpm(NpmIndex, Unlocked):
    """The port Ecosystem for package.json files alone."""

    tool = "npm"
    proved_by = "npm install --package-lock-only"
    scheme: Scheme = NPM

    def __init__(self, manifests: tuple[str, ...], *, seconds: float = 300) -> None:
        super().__init__(manifests, seconds=seconds)
        self._registry = Registry(seconds)

    async def _list_named_registries(self, tree: WorkTree, scope: str) -> Collection[str]:
        folders = {posixpath.dirname(manifest) for manifest in self._manifests}
        return {await read_registry(tree, folder, scope) for folder in folders}

    def _list_lowest(self, text: str, file: str) -> Sequence[Lowest]:
        return list_lowest(parse_json(text, file), file)

    async def _require(
        self, tree: WorkTree, file: str, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        def goal(_: str) -> str:
            return version

        return await require(tree, file, package, goal, widen=widen, locked=False)

    def _name_command(self, file: str) -> str:
        folder = posixpath.dirname(file)
        start = f"cd {shlex.quote(folder)} && " if folder else ""
        return f"{start}npm install --package-lock-only"

    async def _find_conflict(self, tree: WorkTree, file: str, text: str) -> str:
        directory = posixpath.dirname(file)
        options = " ".join(await flags(tree, directory))
        staged = Staged(directory, {file: harmless(parse_json(text, file))})
        body = f"npm install --package-lock-only {options}"
        result = await attempt(tree, body, seconds=self._seconds, staged=staged)
        return describe_failure("npm", result)
