"""Cargo: Cargo.lock with the Cargo.toml of root and members."""

from __future__ import annotations

import asyncio
import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial

from univers.versions import SemverVersion

from agents.pipelines.remediate.ladder.cargo import requirements
from agents.pipelines.remediate.ladder.cargo.lock import crate_name, entries_of
from agents.pipelines.remediate.ladder.cargo.sources import (
    CONFIG,
    find_registry_host,
    find_replacement_host,
    read_replacement,
    write_config,
)
from agents.pipelines.remediate.ladder.ecosystem import DatedReleases, WithoutOverrides
from agents.pipelines.remediate.ladder.files import LOCK_LIMIT, read_text, read_toml
from agents.pipelines.remediate.ladder.locked import Entry, Locked, Own
from agents.pipelines.remediate.ladder.manifest_copy import Program
from agents.pipelines.remediate.ladder.ranges import Scheme
from agents.pipelines.remediate.ladder.values import (
    Accepted,
    Group,
    Immovable,
    OtherContents,
    Stuck,
    Target,
    Unfit,
    tail_output,
)
from agents.ports import WorkTree

_CARGO = Program(
    "cargo",
    'export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" CARGO_TERM_COLOR=never CARGO_NET_RETRY=1',
)
_MOST_MANIFESTS = 300
_PARTS = (
    r'^\{"name":"[^"]*","vers":"[^"]*"|"cksum":"[0-9a-f]*"|"yanked":(true|false)'
    r'|"pubtime":"[0-9TZ:.+-]*"'
)
_LISTED = """\
cargo update --dry-run {copies} >/dev/null || exit 1
find "$CARGO_HOME/registry/index" -path '*/.cache/*' -name {file} -exec cat -- {{}} + |
  tr '\\0' '\\n' | grep -oE {parts}
"""
"""What the index says of each version, from where cargo keeps it.

https://doc.rust-lang.org/cargo/reference/registry-index.html#json-schema
"""
_ROW = re.compile(
    r'"vers":"([^"\n]+)"\n"cksum":"([0-9a-f]+)"\n"yanked":(true|false)'
    r'(?:\n"pubtime":"(\d{4}-\d\d-\d\d)[^"\n]*")?'
)
_FROZEN = "cargo metadata --locked --format-version 1 >/dev/null && cargo fetch --locked"

_NO_OVERRIDES = (
    "Cargo has no entries that overrule what other packages ask for: `[patch]` puts another source "
    "in the place of a crate, and only where its version is one that they ask for."
)
"""https://doc.rust-lang.org/cargo/reference/overriding-dependencies.html"""
_INDEXES = ("registry+", "sparse+")
_NOT_INDEXED = (
    "`{lock}` takes {name} from a folder or from git, so no release of an index takes its place."
    " Move it where it comes from, and run `cargo update -p {name}`."
)
_NO_CHECKSUM = (
    "`{lock}` has no checksum of {name} {version} that the index could be held to. Run"
    " `cargo update -p {name}` where you trust the index, and commit it."
)
_MANY = "More than {most} manifests lie beside `{lock}`."


def find(paths: frozenset[str], group: Group) -> Cargo | None:
    """Return Cargo for the nearest lock file at or above the group's folder."""
    names = {posixpath.basename(manifest) for manifest in group.manifests}
    if group.ecosystem != "rust" or not names <= {"Cargo.toml", "Cargo.lock"}:
        return None
    folder = group.directory.strip("/")
    while posixpath.join(folder, "Cargo.lock") not in paths:
        if not folder:
            return None
        folder = posixpath.dirname(folder)
    return Cargo(folder, _list_manifests(paths, folder))


def _list_manifests(paths: frozenset[str], folder: str) -> tuple[str, ...]:
    """Return the manifests below a folder that no other lock file holds for."""
    locked = {posixpath.dirname(path) for path in paths if posixpath.basename(path) == "Cargo.lock"}
    others = tuple(f"{each}/" for each in locked - {folder} if each)
    below = f"{folder}/" if folder else ""
    return tuple(
        sorted(
            path
            for path in paths
            if posixpath.basename(path) == "Cargo.toml"
            and path.startswith(below)
            and not path.startswith(tuple(o for o in others if o.startswith(below)))
        )
    )


class Cargo(DatedReleases, WithoutOverrides):
    """The port Ecosystem for one `Cargo.lock`."""

    tool = "Cargo"
    index_setting = "`[registries]`, or `[source]` for crates.io, in cargo's `config.toml`"
    no_overrides = _NO_OVERRIDES
    locks = True
    scheme: Scheme = Scheme("cargo", SemverVersion, requirement=requirements.admits)

    def __init__(self, directory: str, manifests: tuple[str, ...], *, seconds: float = 300) -> None:
        super().__init__()
        self._directory = directory
        self._manifests = manifests
        self._seconds = seconds
        self._lock = posixpath.join(directory, "Cargo.lock")
        self._targets: Mapping[tuple[str, str], str] = {}
        self._sums: dict[str, dict[str, str]] = {}

    @property
    def files(self) -> frozenset[str]:
        """Return the lock file and all manifests that it may hold for."""
        return frozenset({self._lock, *self._manifests})

    def name_of(self, package: str) -> str:
        """Return the crate's name; Unfit for what is none."""
        return crate_name(package)

    def aim(self, targets: Sequence[Target]) -> None:
        """Take where each vulnerable version goes: a lock of Cargo holds several of one crate."""
        self._targets = {(target.name, target.old): target.new for target in targets}

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now."""
        if len(self._manifests) > _MOST_MANIFESTS:
            raise Unfit("unsupported", _MANY.format(most=_MOST_MANIFESTS, lock=self._lock))
        lock = await read_toml(tree, self._lock, LOCK_LIMIT)
        entries = await asyncio.to_thread(entries_of, lock, self._lock)
        own = [
            Own(name=name, spec=spec, file=file)
            for file in self._manifests
            for name, spec in requirements.list_requirements(await read_toml(tree, file))
        ]
        return Locked(entries=entries, own=tuple(own))

    async def available(self, tree: WorkTree, package: str) -> Sequence[str]:
        """Return the versions that the index effective in the sandbox offers; none was yanked."""
        there = (await self.read(tree)).by_name.get(package, ())
        about = {
            "copies": shlex.join(f"{each.name}@{each.version}" for each in there),
            "file": shlex.quote(package.lower()),
            "parts": shlex.quote(_PARTS),
        }
        output = await self._call(tree, _LISTED.format(**about))
        rows = _ROW.findall(output)
        if not rows:
            said = tail_output(output)
            raise Stuck(f"cargo did not say which versions of {package} there are: {said}")
        self._sums[package] = {version: checksum for version, checksum, *_ in rows}
        self._days[package] = {version: day for version, _, _, day in rows if day}
        return [version for version, _, yanked, _ in rows if yanked == "false"]

    async def find_other_index(self, tree: WorkTree, locked: Locked, package: str) -> str:
        """Return the host of a registry other than crates.io that cannot be asked here.

        cargo is led to that one, and asks no other in its place.
        """
        named = {find_registry_host(each) for each in locked.by_name.get(package, ())}
        url = await read_replacement(tree, self._directory)
        if url and not write_config(url):
            return find_replacement_host(url)
        if hosts := {*named, find_replacement_host(url)} - {""}:
            try:
                await self.available(tree, package)
            except Stuck:
                return min(hosts)
        return ""

    async def objection(self, *_: object) -> str:
        """Return that nothing speaks against a version: what was yanked is not offered."""
        return ""

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Have Cargo move each copy to its version, with nothing moved that need not move.

        Those that may move as they like do so only where it does not work without.
        """
        before = await self.read(tree)
        await self._require_same(tree, before, pins)
        old = await read_text(tree, self._lock, LOCK_LIMIT)
        try:
            await self._move(tree, pins)
        except Stuck:
            if not free:
                raise
            await tree.write(self._lock, old.encode())
            await self._call(tree, f"cargo update {shlex.join(map(crate_name, free))}", keep=True)
            await self._move(tree, pins)

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the requirements of root and members so that they admit the version."""
        changes: list[str] = []
        for file in self._manifests:
            editing = partial(self._move_requirement, package, version, file=file, widen=widen)
            text = await read_text(tree, file)
            changed, made = requirements.rewrite(text, file, package, editing)
            if made:
                await tree.write(file, changed.encode())
            changes += made
        return changes

    async def verify_lock(self, tree: WorkTree, _before: Locked, _after: Locked) -> Accepted:
        """Prove that lock file and manifests agree, and that all of it can be had as locked."""
        await self._call(tree, _FROZEN)
        return Accepted(commands=("cargo metadata --locked", "cargo fetch --locked"))

    def _move_requirement(
        self, package: str, version: str, spec: str, *, file: str, widen: bool
    ) -> str | None:
        """Return the requirement to state instead; None where nothing changes. Raises Stuck."""
        olds = [old for name, old in self._targets if name == package]
        admitted = [old for old in self.scheme.order(olds) if requirements.admits(spec, old)]
        if olds and not admitted:
            return None
        goal = self._targets[package, admitted[-1]] if admitted else version
        if requirements.admits(spec, goal):
            return None
        moved = (requirements.move_range if widen else requirements.move_pin)(spec, goal)
        if moved is None or not requirements.admits(moved, goal):
            raise Immovable(file, f"{package} {spec}", goal, widen=widen)
        return moved

    async def _move(self, tree: WorkTree, pins: Mapping[str, str]) -> None:
        """Move the pinned crates one after the other, those that need the vulnerable one first."""
        meant = {name for name, _ in self._targets}
        for name in sorted(pins, key=lambda each: each in meant):
            locked = await self.read(tree)
            for entry in self._list_movable(locked, name, pins[name]):
                new = self._targets.get((name, entry.version), pins[name])
                words = ("cargo", "update", f"{entry.source}#{name}@{entry.version}")
                if not entry.source.startswith("registry+"):
                    words = ("cargo", "update", f"{name}@{entry.version}")
                await self._call(tree, shlex.join((*words, "--precise", new)), keep=True)

    def _list_movable(self, locked: Locked, name: str, new: str) -> list[Entry]:
        """Return the copies that have to move: the vulnerable ones, or who needs one."""
        there = locked.by_name.get(name, ())
        if any(each == name for each, _ in self._targets):
            return [each for each in there if (name, each.version) in self._targets]
        vulnerable = {e.key for e in locked.entries if (e.name, e.version) in self._targets}
        return [
            each for each in there if each.version != new and not vulnerable.isdisjoint(each.needs)
        ]

    async def _require_same(self, tree: WorkTree, locked: Locked, pins: Mapping[str, str]) -> None:
        """Raise Stuck when the index has something else under these names than the lock file does.

        A private crate can have a public one of its name: that one must not take its place.
        """
        for name, new in pins.items():
            for entry in self._list_movable(locked, name, new):
                self._require_comparable(entry)
                if name not in self._sums:
                    await self.available(tree, name)
                if self._sums[name].get(entry.version) not in entry.hashes:
                    raise OtherContents(name, entry.version)

    def _require_comparable(self, entry: Entry) -> None:
        """Raise Stuck where nothing says what the crate's contents are."""
        if not entry.source.startswith(_INDEXES):
            raise Stuck(_NOT_INDEXED.format(name=entry.name, lock=self._lock))
        if not entry.hashes:
            about = {"name": entry.name, "version": entry.version, "lock": self._lock}
            raise Stuck(_NO_CHECKSUM.format(**about))

    async def _call(self, tree: WorkTree, body: str, *, keep: bool = False) -> str:
        """Run cargo on manifests and lock file; `keep` what it makes of the latter."""
        files = {self._lock: await read_text(tree, self._lock, LOCK_LIMIT)}
        if settings := write_config(await read_replacement(tree, self._directory)):
            files[posixpath.join(self._directory, CONFIG)] = settings
        for file in self._manifests:
            files |= dict(requirements.list_stand_ins(file, await read_text(tree, file)))
        kept = self._lock if keep else ""
        return await _CARGO.call(
            tree, self._directory, files, body, seconds=self._seconds, keep=kept
        )
