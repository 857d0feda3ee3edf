"""Yarn 1: yarn.lock with the package.json of root and members.

It moves no single package by itself. So the releases are put into the lock file, as npm writes
them, and Yarn then makes of it what it can stand by.
"""

from __future__ import annotations

import asyncio
import posixpath
import shlex
from collections.abc import Collection, Mapping, Sequence

from agents.analysis.languages.workspaces import is_member
from agents.pipelines.remediate.ladder.files import LOCK_LIMIT, read_text
from agents.pipelines.remediate.ladder.locked import Locked, Own
from agents.pipelines.remediate.ladder.npm.aim import Aim
from agents.pipelines.remediate.ladder.npm.files import Table, read_json, table
from agents.pipelines.remediate.ladder.npm.manifest import list_requirements
from agents.pipelines.remediate.ladder.npm.registry import Registry
from agents.pipelines.remediate.ladder.npm.tools import CLASSIC_YARN, Staged, call, harmless
from agents.pipelines.remediate.ladder.yarn import classic_lock as locks
from agents.pipelines.remediate.ladder.yarn.override_entries import plan_classic_entries
from agents.pipelines.remediate.ladder.yarn.resolutions import PLACE, list_resolutions
from agents.ports import WorkTree

_INSTALL = """\
server=${{npm_config_registry:-$(npm config get registry)}}
sed -i "s#{near}#${{server%/}}/#" yarn.lock
yarn install --ignore-scripts --ignore-engines --ignore-platform --non-interactive --no-progress \\
  --no-bin-links --silent --registry "$server" --cache-folder "$work/cache"{options} || exit 1
"""
_KEEP = 'cp -- yarn.lock "$tree"/{lock}'


class ClassicYarn:
    """One `yarn.lock` of Yarn 1."""

    def __init__(
        self, directory: str, manifests: Sequence[str], registry: Registry, *, seconds: float
    ) -> None:
        self._directory = directory
        self._manifests = manifests
        self._registry = registry
        self._seconds = seconds
        self._lock = posixpath.join(directory, "yarn.lock")
        self._root = posixpath.join(directory, "package.json")
        self.members: tuple[str, ...] = (self._root,)

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now."""
        self.members = await self._list_members(tree)
        own = [
            each
            for f in self.members
            for each in list_requirements(await read_json(tree, f), f, PLACE * (f == self._root))
        ]
        blocks = await self._read_blocks(tree)
        entries = await asyncio.to_thread(locks.entries_of, blocks, self._lock)
        return Locked(entries=entries, own=tuple(own))

    async def relock(
        self, tree: WorkTree, aim: Aim, pins: Mapping[str, str], free: Sequence[str]
    ) -> None:
        """Resolve anew, with nothing moved that need not move."""
        before = await self.read(tree)
        moving = aim.plan_moves(before, pins)
        await self._registry.require_same(tree, [before.by_key[key] for key in moving])
        old = await self._read_blocks(tree)
        asked = self._list_asked([*before.own, *await self._list_resolved(tree)], old, aim, pins)
        releases = await self._list_releases(tree, {*moving.values(), *asked.values()}, old)
        moved = locks.move(old, moving, releases)
        for pattern, (name, version) in asked.items():
            moved.append(locks.make_block([pattern], version, releases[name, version][""]))
        for names in (frozenset[str](), frozenset(free) - pins.keys()):
            kept = locks.merge([block for block in moved if block.name not in names])
            await self._install(tree, locks.write_near(kept), keep=True)
            text = await read_text(tree, self._lock, LOCK_LIMIT)
            restored = await asyncio.to_thread(locks.restore_addresses, text, old, self._lock)
            await tree.write(self._lock, restored.encode())
            if not free or not aim.has_unmoved(await self.read(tree)):
                return

    async def plan_overrides(self, tree: WorkTree, locked: Locked, aim: Aim) -> dict[str, str]:
        """Return the entries that overrule what others ask for."""
        blocks = await self._read_blocks(tree)
        named = {m: (await read_json(tree, m)).get("name") for m in self.members if m != self._root}
        workspaces = {member: name for member, name in named.items() if isinstance(name, str)}
        own = [each for each in locked.own if not each.overrules]
        return await asyncio.to_thread(plan_classic_entries, blocks, own, aim, workspaces)

    async def verify(self, tree: WorkTree) -> None:
        """Prove that lock file and manifests agree, and that all of it installs as it is locked."""
        text = locks.write_near(await self._read_blocks(tree))
        await self._install(tree, text, options=" --frozen-lockfile")

    async def _list_releases(
        self, tree: WorkTree, wanted: Collection[tuple[str, str]], old: Sequence[locks.Block]
    ) -> dict[tuple[str, str], dict[str, Table]]:
        """Return what the index says of these releases, with the hashes that the file has."""
        found = await self._registry.entries(tree, wanted)
        hashed = any("#" in block.resolved for block in old)
        return {
            (name, version): {
                "": found[name, version][""]
                | ({"sha1": await self._registry.find_sha1(tree, name, version)} if hashed else {})
            }
            for name, version in wanted
        }

    def _list_asked(
        self, own: Sequence[Own], blocks: Sequence[locks.Block], aim: Aim, pins: Mapping[str, str]
    ) -> dict[str, tuple[str, str]]:
        """Return where requirements lead that the manifests did not have before."""
        known = {pattern for block in blocks for pattern in block.patterns}
        asked = {f"{each.name}@{each.spec}": each for each in own if each.name in pins}
        return {
            pattern: (
                each.name,
                aim.choose_release(each.name, each.spec, pins[each.name]),
            )
            for pattern, each in asked.items()
            if pattern not in known
        }

    async def _list_resolved(self, tree: WorkTree) -> list[Own]:
        """Return where the root overrules what others ask for, which Yarn asks for as well."""
        found = list_resolutions(await read_json(tree, self._root), self._root)
        return [
            Own(name=name, spec=each.to, file=self._root)
            for name, entries in found.items()
            for each in entries
        ]

    async def _read_blocks(self, tree: WorkTree) -> list[locks.Block]:
        text = await read_text(tree, self._lock, LOCK_LIMIT)
        return await asyncio.to_thread(locks.read_blocks, text, self._lock)

    async def _list_members(self, tree: WorkTree) -> tuple[str, ...]:
        """Return the manifests of root and workspaces.

        https://classic.yarnpkg.com/lang/en/docs/workspaces/
        """
        named = (await read_json(tree, self._root)).get("workspaces")
        globs = named if isinstance(named, list) else table(named).get("packages")
        patterns = [str(each) for each in (globs if isinstance(globs, list) else ())]
        below = f"{self._directory}/" if self._directory else ""
        folders = {m: posixpath.dirname(m).removeprefix(below) for m in self._manifests}
        found = [m for m, folder in folders.items() if is_member(folder, patterns)]
        return tuple(dict.fromkeys((self._root, *found)))

    async def _install(
        self, tree: WorkTree, lock: str, *, options: str = "", keep: bool = False
    ) -> None:
        files = {member: harmless(await read_json(tree, member)) for member in self.members}
        files[self._lock] = lock.encode()
        body = _INSTALL.format(near=locks.NEAR, options=options)
        body += _KEEP.format(lock=shlex.quote(self._lock)) if keep else ""
        staged = Staged(self._directory, files)
        await call(tree, body, seconds=self._seconds, tool=CLASSIC_YARN, staged=staged)
