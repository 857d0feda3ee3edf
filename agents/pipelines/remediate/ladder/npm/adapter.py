"""npm: package-lock.json or npm-shrinkwrap.json, with the package.json of root and members."""

from __future__ import annotations

import asyncio
import copy
import posixpath
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from agents.pipelines.remediate.ladder.files import LOCK_LIMIT, read_text
from agents.pipelines.remediate.ladder.locked import Entry, Locked
from agents.pipelines.remediate.ladder.npm import lock as locks
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.aim import Aim
from agents.pipelines.remediate.ladder.npm.files import (
    Table,
    find_nearest_lock,
    flags,
    npm_name,
    parse_json,
    read_json,
    table,
)
from agents.pipelines.remediate.ladder.npm.manifest import (
    add_overrides,
    entries_of,
    list_requirements,
    require,
)
from agents.pipelines.remediate.ladder.npm.merge import dump_like, merge_values
from agents.pipelines.remediate.ladder.npm.override_removal import has_overrides, take_out
from agents.pipelines.remediate.ladder.npm.registry import FETCH, MovedPackages, NpmIndex, Registry
from agents.pipelines.remediate.ladder.npm.tools import (
    NpmAnswer,
    NpmCommand,
    Staged,
    explain_refusal,
    harmless,
    run_npm,
    to_json,
)
from agents.pipelines.remediate.ladder.npm.unmet import (
    Unmet,
    list_overruled,
    list_unmet,
    remove_for_another,
)
from agents.pipelines.remediate.ladder.ranges import NPM, Scheme
from agents.pipelines.remediate.ladder.values import Accepted, Group, Stuck, Target
from agents.ports import WorkTree

# https://docs.npmjs.com/cli/configuring-npm/npm-shrinkwrap-json
_LOCKS = ("npm-shrinkwrap.json", "package-lock.json")  # npm reads the first of these alone
_NAMES = {*_LOCKS, "package.json"}
_PLACE = ("overrides",)
_WHOLE, _PROOF = "whole", "proof"
"""Folders in which npm runs, as it finds them: of the whole project, and of what moved alone."""
_HELD = "{above.name} {above.version} asks for {name} {asked}, which no newer release is."
_BUNDLED = (
    "{name} {version} lies in the archive of {above.name} {above.version}, which bundles it: only a"
    " release of {above.name} that bundles another one moves it."
)
_UNMET = (
    "npm does not look below members of a workspace, and leaves there what does not fit: {words}"
)
_ADDRESSES = (
    "The new entries of {names} name the host that their neighbours name. Fettle fetched them from "
    "the index that it is configured for; the hashes are the same or an installation fails."
)


def find(paths: frozenset[str], group: Group) -> Npm | None:
    """Return npm for the nearest lock file at or above the group's folder."""
    names = {posixpath.basename(manifest) for manifest in group.manifests}
    if group.ecosystem != "npm" or not names <= _NAMES:
        return None
    lock = find_nearest_lock(paths, group.directory, _LOCKS)
    return Npm(lock) if lock else None


class Npm(NpmIndex):
    """The port Ecosystem for one lock file of npm."""

    tool = "npm"
    locks = True
    scheme: Scheme = NPM

    def __init__(self, lock: str, *, seconds: float = 300) -> None:
        self._lock = lock
        self._directory = posixpath.dirname(lock)
        self._seconds = seconds
        self._registry = Registry(seconds)
        self._root = posixpath.join(self._directory, "package.json")
        self._members: tuple[str, ...] = (self._root,)
        self._aim = Aim()
        self._let_go: frozenset[str] = frozenset()
        self._start: dict[str, str] | None = None
        self._base: Table | None = None
        self._renamed: list[str] = []
        self._refused: str | None = None
        """Why npm refuses the files as they were; empty: it does not, None: nobody has asked."""

    @property
    def files(self) -> frozenset[str]:
        """Return the lock file, and the manifests of root and members."""
        return frozenset({self._lock, *self._members})

    def aim(self, targets: Sequence[Target]) -> None:
        """Take where each vulnerable version goes: a tree of npm holds several of one package."""
        self._aim = Aim.from_targets(targets)

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now."""
        text = await read_text(tree, self._lock, LOCK_LIMIT)
        lock = await asyncio.to_thread(parse_json, text, self._lock)
        packages = locks.packages_of(lock, self._lock)
        self._members = locks.manifests_of(packages, self._directory, self._lock)
        texts = {file: await read_text(tree, file) for file in self._members}
        own = [
            each
            for f, t in texts.items()
            for each in list_requirements(parse_json(t, f), f, _PLACE * (f == self._root))
        ]
        if self._start is None:
            self._start = {**texts, self._lock: text}
        entries = await asyncio.to_thread(locks.entries_of, packages, self._lock)
        return Locked(entries=entries, own=tuple(own))

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Resolve anew, with nothing moved that need not move.

        npm takes no version for a package that others need. So the entries of the release are put
        into the lock file, as npm writes them, and npm then makes of it what it can stand by.
        """
        locked = await self.read(tree)
        self._require_unbundled(locked, {*pins, *free})
        moving = self._aim.plan_moves(locked, pins)
        await self._require_movable(
            tree, [locked.by_key[e] for e in moving], locked, {*pins, *free}
        )
        await self._registry.require_same(tree, [locked.by_key[place] for place in moving])
        releases = await self._registry.entries(tree, moving.values())
        old = parse_json(self._start[self._lock], self._lock) if self._start else {}
        for names in (frozenset[str](), frozenset(free)):
            wanted = copy.deepcopy(old)
            packages = locks.packages_of(wanted, self._lock)
            self._renamed = locks.replace_releases(packages, moving, releases)
            for each in await self._list_unmet(tree, old, wanted):
                if locks.is_installed(each.above) and each.place in moving:
                    remove_for_another(packages, each)
            anew = names | self._find_override_holds(locked)
            locks.remove_copies(packages, anew - {name for name, _ in moving.values()})
            await self._keep(tree, old, (wanted, await self._read_manifests(tree)))
            if not free or not self._aim.has_unmoved(await self.read(tree)):
                return

    def _require_unbundled(self, locked: Locked, loose: Collection[str]) -> None:
        """Raise Stuck where a copy lies in another package's archive, and that one stays."""
        for entry in locked.entries:
            if entry.source == locks.BUNDLED and self._aim.find_target(entry):
                above = locks.find_bundler(entry, locked)
                if above.name not in loose:
                    about = {"name": entry.name, "version": entry.version, "above": above}
                    raise Stuck(_BUNDLED.format(**about))

    async def _require_movable(
        self, tree: WorkTree, moving: Sequence[Entry], locked: Locked, loose: Collection[str]
    ) -> None:
        """Raise Stuck where a package that stays where it is asks for a copy as it is, as by a pin.

        npm would come to nothing else, but takes longer. With `overrides`, or options that have
        conflicts of peers ignored, it is for npm to say.
        """
        overrules = "overrides" in parse_json(await read_text(tree, self._root), self._root)
        if overrules or await flags(tree, self._directory):
            return
        for entry in (each for each in moving if self._aim.find_target(each)):
            offered = await self._registry.available(tree, entry.name)
            newer = [version for version in offered if NPM.newer(version, entry.version)]
            for above in (locked.by_key[key] for key in locked.needed_by_of(entry)):
                asked = above.asks.get(entry.name, "")
                stays = specs.is_range(asked) and not (above.own or above.name in loose)
                if stays and not any(specs.admits(asked, version) for version in newer):
                    raise Stuck(_HELD.format(above=above, name=entry.name, asked=asked))

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the requirements of root and members so that they admit the version."""
        changes: list[str] = []
        for file in self._members:
            goal = partial(self._aim.find_wanted_version, package, version=version)
            place = _PLACE * (file == self._root)
            changes += await require(tree, file, package, goal, widen=widen, place=place)
        return changes

    async def override(self, tree: WorkTree, targets: Sequence[Target], reason: str, /) -> None:
        """Add to `overrides`, each for the versions from the old one up to the new one alone."""
        await add_overrides(tree, self._root, _PLACE, entries_of(targets), reason)

    async def has_override(self, tree: WorkTree, targets: Sequence[Target], reason: str, /) -> bool:
        """Return whether those entries are there, as they were written."""
        return await has_overrides(tree, self._root, _PLACE, entries_of(targets), reason)

    async def without_override(
        self, tree: WorkTree, targets: Sequence[Target], reason: str, /
    ) -> Sequence[str]:
        """Take those entries out."""
        if not await self.has_override(tree, targets, reason):
            raise Stuck(f"`{self._root}` overrides nothing of the kind.")
        await take_out(tree, self._root, _PLACE, entries_of(targets))
        self._let_go = frozenset(target.name for target in targets)
        return []

    async def verify_lock(self, tree: WorkTree, before: Locked, after: Locked) -> Accepted:
        """Prove that lock file and manifests agree, and that what moved has its hashes."""
        lock = await read_json(tree, self._lock, LOCK_LIMIT)
        proof = MovedPackages.from_locks(before, after)
        fetch = [NpmCommand(FETCH, _PROOF)] if proof.files else []
        frozen = await self._make_frozen(tree)
        files = {
            **self._stage(_WHOLE, lock, await self._read_manifests(tree)),
            **{f"{_PROOF}/{path}": data for path, data in proof.files.items()},
        }
        await self._run(tree, (frozen, *fetch), files)
        old, _ = await self._read_start(tree)
        if unmet := await self._list_unmet(tree, old, lock):
            raise Stuck(_UNMET.format(words=" ".join(each.words for each in unmet[:3])))
        names = ", ".join(sorted(set(self._renamed)))
        notes = [*proof.notes, *([_ADDRESSES.format(names=names)] if names else [])]
        ran = shlex.join(("npm", *frozen.arguments))
        return Accepted(commands=(ran,), fetched=proof.fetched, notes=tuple(notes))

    async def _list_unmet(self, tree: WorkTree, old: Table, new: Table) -> list[Unmet]:
        """Return what npm would leave unmet below members; elsewhere it looks itself."""
        if len(self._members) == 1:
            return []
        found = list_unmet(
            table(old.get("packages")),
            table(new.get("packages")),
            overruled=list_overruled(await read_json(tree, self._root)),
            peers="--legacy-peer-deps=true" not in await flags(tree, self._directory),
        )
        return await asyncio.to_thread(list, found)

    def _find_override_holds(self, locked: Locked) -> frozenset[str]:
        """Return what only an override held where it is: npm leaves it there, whoever refuses."""
        found = set()
        for entry in locked.entries:
            for child in (locked.by_key[key] for key in entry.needs if key in locked.by_key):
                asked = entry.asks.get(child.name, "")
                if child.name in self._let_go and specs.is_range(asked):
                    found |= set() if specs.admits(asked, child.version) else {child.name}
        return frozenset(found)

    async def _keep(
        self, tree: WorkTree, old: Table, wanted: tuple[Table, Mapping[str, str]]
    ) -> None:
        """Write the lock file as npm makes it of the wanted one.

        What npm merely writes anew, whatever is wanted, stays as it was.
        """
        start = self._start or {}
        if self._base is None:
            self._base, new = await self._resolve(tree, (old, start), wanted)
        else:
            [new] = await self._resolve(tree, wanted)
        if unmet := {each.name for each in await self._list_unmet(tree, old, new)}:
            update = ("update", "--package-lock-only", "--no-save", *sorted(map(npm_name, unmet)))
            [new] = await self._resolve(tree, (new, wanted[1]), command=update)
        lock = merge_values(old, self._base, new)
        self._renamed += locks.restore_sources(old, lock)
        await tree.write(self._lock, dump_like(lock, start[self._lock]))

    async def _resolve(
        self,
        tree: WorkTree,
        *projects: tuple[Table, Mapping[str, str]],
        command: Sequence[str] = ("install", "--package-lock-only"),
    ) -> list[Table]:
        """Return what npm makes of each of these lock files with its manifests."""
        options = await flags(tree, self._directory)
        names = [f"{_WHOLE}{at}" for at in range(len(projects))]
        files: dict[str, bytes] = {}
        for name, (lock, manifests) in zip(names, projects, strict=True):
            files |= self._stage(name, lock, manifests)
        arguments = (*command, *options)
        made = {self._lock: [posixpath.join(name, self._lock) for name in names]}
        commands = [NpmCommand(arguments, self._place(name)) for name in names]
        commands[-1] = replace(commands[-1], gather=made)
        answer = await self._run(tree, commands, files)
        return await asyncio.to_thread(_parse_all, answer.gathered[self._lock], self._lock)

    def _stage(self, name: str, lock: Table, manifests: Mapping[str, str]) -> Mapping[str, bytes]:
        """Return a lock file and manifests as npm gets them, in a folder of this name."""
        files = {file: harmless(parse_json(manifests[file], file)) for file in self._members}
        files[self._lock] = to_json(lock)
        return {posixpath.join(name, path): data for path, data in files.items()}

    def _place(self, name: str) -> str:
        return posixpath.join(name, self._directory)

    async def _run(
        self, tree: WorkTree, commands: Sequence[NpmCommand], files: Mapping[str, bytes]
    ) -> NpmAnswer:
        """Run these commands. Raises Stuck, of what was wrong before the change if that is it."""
        ask = partial(run_npm, tree, seconds=self._seconds)
        try:
            return await ask(*commands, staged=Staged(files=files))
        except Stuck as stuck:
            if self._refused is None:
                lock, start = await self._read_start(tree)
                frozen = await self._make_frozen(tree)
                staged = Staged(files=self._stage(_WHOLE, lock, start))
                self._refused = ""
                try:
                    await ask(frozen, staged=staged)
                except Stuck as before:
                    self._refused = explain_refusal(self._lock, str(before))
            if self._refused:
                raise Stuck(self._refused) from stuck
            raise

    async def _read_start(self, tree: WorkTree) -> tuple[Table, Mapping[str, str]]:
        start = self._start or {self._lock: "{}", **await self._read_manifests(tree)}
        return parse_json(start[self._lock], self._lock), start

    async def _make_frozen(self, tree: WorkTree) -> NpmCommand:
        options = await flags(tree, self._directory)
        return NpmCommand(("ci", "--dry-run", *options), self._place(_WHOLE))

    async def _read_manifests(self, tree: WorkTree) -> dict[str, str]:
        return {file: await read_text(tree, file) for file in self._members}


def _parse_all(texts: Sequence[str], path: str) -> list[Table]:
    return [parse_json(each, path) for each in texts]
