"""Ask npm in the sandbox for releases, and verify moved entries against the registry."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from agents.pipelines.remediate.ladder.files import host
from agents.pipelines.remediate.ladder.locked import Entry, Locked
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.files import Table, npm_name, read_registry, table
from agents.pipelines.remediate.ladder.npm.tools import (
    CLASSIC_YARN,
    NPM,
    NpmCommand,
    NpmTool,
    Staged,
    call,
    run_npm,
    to_json,
)
from agents.pipelines.remediate.ladder.ranges import NPM as SCHEME
from agents.pipelines.remediate.ladder.values import OtherContents, Stuck, Unfit, tail_output
from agents.ports import WorkTree

_MARK = "FETTLE"
_MOST_PROVED = 20
_ASKED = ("version", "deprecated", "dist.integrity", "dist.shasum")
_ROWS = (
    "(r=>r.map(e=>[e.version||e,!!e.deprecated,"
    "...(r.length>600?[]:[[e['dist.integrity'],e['dist.shasum']].join(' ')])"
    "]))([JSON.parse(t)].flat())"
)
"""Each version, whether it is deprecated, and its hashes, unless that would be too much at once."""

_NEEDING = ("dependencies", "optionalDependencies", "peerDependencies")
_NEEDS = (
    "Object.fromEntries([JSON.parse(t)].flat().map(e=>[e.version,["
    "e.dependencies,e.optionalDependencies,e.peerDependencies"
    "].map(d=>(d||{{}})[{name}])]))"
)
"""What each version asks of one other package, in each of these sections."""

_CONFIGURED = """\
left={named}
look() {{
  url=$1; printf 'FETTLE%s\\n' "$url"
  at=${{url#*://}}; left=${{left//" ${{at%%/*}} "/ }}; [ -n "${{left// /}}" ]
}}
look "${{npm_config_registry:-$(npm config get registry)}}" &&
  {scoped}unset npm_config_registry &&
  look "$(npm config get registry --userconfig ./none-of-user --globalconfig ./none-of-all)"
true
"""
"""The registries that npm is configured for, and the one that it asks otherwise, until all named
ones are among them."""

_SCOPED = 'look "$(npm config get {scope}:registry)" && '
_OF_YARN = """\
cd -- "$(mktemp -d)" &&
  printf 'FETTLE%s\\n' "$(env -i HOME="$PWD" PATH="$PATH" yarn config get registry)"
"""
"""The name that Yarn 1 has for the public registry: it stands in lock files of others too."""

_LINEAGE = """\
said=$(npm view --json -- {wanted} dist.integrity dist.shasum 2>/dev/null | tr -d '\\n')
printf 'FETTLE%s\\n' "${{said:-null}}"
"""
_RESOLVE = ("install", "--package-lock-only", "--legacy-peer-deps")
_KEPT = (
    "Object.entries(JSON.parse(t).packages)"
    ".filter(([p,e])=>p.match(/^node_modules.p[0-9]+$/)||e.inBundle)"
)
FETCH = ("ci",)
_UNKNOWN = "npm did not say which versions of {package} there are: {said}"


@dataclass
class Registry:
    """The index effective in the sandbox; remembers what it said."""

    seconds: float = 300
    _known: dict[str, set[str]] = field(default_factory=dict)
    """The hosts of registries that npm is configured for, by scope."""
    _versions: dict[str, dict[str, bool]] = field(default_factory=dict)
    _entries: dict[tuple[str, str], dict[str, Table]] = field(default_factory=dict)
    _hashes: dict[tuple[str, str], Any] = field(default_factory=dict)
    _needs: dict[tuple[str, str], Mapping[str, Sequence[str]]] = field(default_factory=dict)

    async def available(self, tree: WorkTree, package: str) -> Sequence[str]:
        """Return the versions that there are. Raises Stuck when it does not say."""
        name = npm_name(package)
        if name not in self._versions:
            view = ("view", "--json", "--", f"{name}@>=0.0.0-0", *_ASKED)
            output = await self._run(tree, NpmCommand(view, tell=_ROWS))
            self._learn_versions(name, _find_marked(output), output)
        return list(self._versions[name])

    def _learn_versions(self, name: str, rows: Any, output: str) -> None:
        if not isinstance(rows, list):
            raise Stuck(_UNKNOWN.format(package=name, said=tail_output(output)))
        self._versions[name] = {str(row[0]): bool(row[1]) for row in rows}
        self._hashes |= {(name, str(row[0])): row[2] for row in rows if len(row) > 2}

    async def read_needs(
        self, tree: WorkTree, package: str, other: str, *, peers: bool = True
    ) -> Mapping[str, str]:
        """Return for each release of a package which versions of the other one it asks for.

        Releases that do not ask for it are left out. Without `peers`, what they want beside them
        does not count. Raises Stuck.
        """
        name = npm_name(package)
        if (name, other) not in self._needs:
            await self._learn_needs(tree, name, npm_name(other))
        sections = slice(None if peers else -1)
        needs = self._needs[name, other].items()
        joined = {version: " ".join(filter(None, asked[sections])) for version, asked in needs}
        return {version: asked for version, asked in joined.items() if asked}

    async def _learn_needs(self, tree: WorkTree, name: str, other: str) -> None:
        view = ("view", "--json", "--", f"{name}@>=0.0.0-0", *_ASKED, *_NEEDING)
        needs = _NEEDS.format(name=json.dumps(other))
        output = await self._run(tree, NpmCommand(view, tell=f"[{_ROWS},{needs}]"))
        told = _find_marked(output)
        rows, asked = told if isinstance(told, list) and len(told) == 2 else (None, None)
        self._learn_versions(name, rows, output)
        self._needs[name, other] = {
            version: [each if isinstance(each, str) else "" for each in specs]
            for version, specs in table(asked).items()
            if isinstance(specs, list)
        }

    async def find_unconfigured(self, tree: WorkTree, scope: str, named: Collection[str]) -> str:
        """Return one of these hosts that npm is not configured for in a scope; empty: none."""
        known = self._known.setdefault(scope, set())
        if others := sorted({*named} - known):
            left = shlex.quote(f" {'  '.join(others)} ")
            scoped = _SCOPED.format(scope=scope) if scope else ""
            body = _CONFIGURED.format(scoped=scoped, named=left)
            known |= await self._ask_hosts(tree, body, NPM)
        if {*named} - known:
            with suppress(Stuck, Unfit):  # no Yarn, no name of Yarn's
                known |= await self._ask_hosts(tree, _OF_YARN, CLASSIC_YARN)
        return min({*named} - known, default="")

    async def _ask_hosts(self, tree: WorkTree, body: str, tool: NpmTool) -> set[str]:
        output = await call(tree, body, seconds=self.seconds, tool=tool)
        lines = (line for line in output.splitlines() if _MARK in line)
        return {host(line.partition(_MARK)[2]) for line in lines}

    async def find_young(
        self, tree: WorkTree, releases: Collection[tuple[str, str]], newest: date
    ) -> Collection[tuple[str, str]]:
        """Return those that the registry does not show to be published on that day or before."""
        old = set()
        for name in {name for name, _ in releases}:
            view = ("view", "--json", "--", npm_name(name), "time")
            output = await self._run(tree, NpmCommand(view, tell="JSON.parse(t)"))
            times = table(_find_marked(output))
            days = {version: str(time)[:10] for version, time in times.items()}
            old |= {(name, v) for v, day in days.items() if "" < day <= newest.isoformat()}
        return [each for each in releases if each not in old]

    async def objection(self, tree: WorkTree, package: str, version: str) -> str:
        """Return why a version must not be taken; where all are deprecated that is no reason."""
        await self.available(tree, package)
        known = self._versions[package]
        others = (v for v, deprecated in known.items() if not deprecated)
        if known.get(version) and any(SCHEME.newer(other, version) for other in others):
            return "was deprecated by those who published it"
        return ""

    async def entries(
        self, tree: WorkTree, wanted: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], Mapping[str, Table]]:
        """Return what npm writes into a lock file for these releases.

        The entry itself stands under an empty key; what it brings bundled, under the path below it.
        """
        missing = [each for each in dict.fromkeys(wanted) if each not in self._entries]
        if missing:
            asked = {f"p{at}": f"npm:{npm_name(n)}@{v}" for at, (n, v) in enumerate(missing)}
            staged = Staged(files={"package.json": to_json({"dependencies": asked})})
            resolve = NpmCommand(_RESOLVE, tell=_KEPT, file="package-lock.json")
            output = await self._run(tree, resolve, staged=staged)
            for at, each in enumerate(missing):
                self._entries[each] = _collect_entries(
                    f"node_modules/p{at}", _find_marked(output), each, output
                )
        return self._entries

    async def find_sha1(self, tree: WorkTree, package: str, version: str) -> str:
        """Return a release's older hash, in hexadecimal; empty where the index does not say."""
        await self.available(tree, package)
        row = self._hashes.get((package, version))
        found = re.search(r"\b[0-9a-f]{40}\b", str(row or ""))
        return found[0] if found else ""

    async def require_same(self, tree: WorkTree, old: Iterable[Entry]) -> None:
        """Raise Stuck when the index has something else under these names than the lock file does.

        A private package can have a public one of its name: that one must not take its place.
        """
        meant = {(e.name, e.version): e for e in old if e.hashes and e.version}
        await self._learn(tree, [key for key in meant if key not in self._hashes])
        for key, entry in meant.items():
            if not _matches(entry, self._hashes.get(key)):
                raise OtherContents(entry.name, entry.version)

    async def _learn(self, tree: WorkTree, missing: Sequence[tuple[str, str]]) -> None:
        """Ask for the hashes of these releases."""
        if not missing:
            return
        wanted = (shlex.quote(f"{npm_name(name)}@{version}") for name, version in missing)
        body = "".join(_LINEAGE.format(wanted=each) for each in wanted)
        rows = _all_marked(await call(tree, body, seconds=self.seconds))
        self._hashes |= dict(zip(missing, rows, strict=False))

    async def prove(self, tree: WorkTree, before: Locked, after: Locked) -> list[str]:
        """Have npm fetch what moved and compare its hashes. Raises Stuck on other contents.

        Returns notes on what was not fetched.
        """
        proof = MovedPackages.from_locks(before, after)
        await self.fetch(tree, proof)
        return proof.notes

    async def fetch(self, tree: WorkTree, moved: MovedPackages) -> None:
        """Have npm fetch these and compare their hashes. Raises Stuck on other contents."""
        if moved.files:
            await self._run(tree, NpmCommand(FETCH), staged=Staged(files=moved.files))

    async def _run(self, tree: WorkTree, command: NpmCommand, staged: Staged | None = None) -> str:
        return (await run_npm(tree, command, seconds=self.seconds, staged=staged)).output


@dataclass(frozen=True)
class MovedPackages:
    """What moved, as a project that npm installs with the hashes of the lock file alone."""

    files: Mapping[str, bytes]
    """Empty where nothing that moved has a hash."""
    notes: list[str]
    """What it does not hold."""
    fetched: tuple[str, ...] = ()
    """What it does hold."""

    @classmethod
    def from_locks(cls, before: Locked, after: Locked) -> MovedPackages:
        """Return those that are locked after and were not before."""
        known = {(entry.name, entry.version) for entry in before.entries}
        moved = {
            (entry.name, entry.version): entry
            for entry in after.entries
            if not entry.own and (entry.name, entry.version) not in known
        }
        hashed = [entry for entry in moved.values() if entry.hashes][:_MOST_PROVED]
        left = [entry.name for entry in moved.values() if entry not in hashed]
        notes = [f"Not fetched to prove their hashes: {', '.join(left)}."] if left else []
        names = tuple(f"{entry.name} {entry.version}" for entry in hashed)
        return cls(_lay_proof(hashed) if hashed else {}, notes, names)


def _collect_entries(
    place: str, found: Any, wanted: tuple[str, str], output: str
) -> dict[str, Table]:
    rows = found if isinstance(found, list) else []
    entries = {
        str(path).removeprefix(place): table(entry)
        for path, entry in rows
        if path == place or str(path).startswith(f"{place}/")
    }
    if entries.get("", {}).get("version") != wanted[1]:
        raise Stuck(f"npm did not find {wanted[0]} {wanted[1]}: {tail_output(output)}")
    return entries


def _lay_proof(entries: Sequence[Entry]) -> dict[str, bytes]:
    """Return a project of these entries alone, each with the hash that the lock file has."""
    asked, locked = {}, {}
    for at, entry in enumerate(entries):
        asked[f"p{at}"] = f"npm:{npm_name(entry.name)}@{entry.version}"
        locked[f"node_modules/p{at}"] = {
            "name": entry.name,
            "version": entry.version,
            "integrity": " ".join(entry.hashes),
        }
    packages = {"": {"dependencies": asked}, **locked}
    lock = {"lockfileVersion": 3, "requires": True, "packages": packages}
    return {"package.json": to_json({"dependencies": asked}), "package-lock.json": to_json(lock)}


def _matches(entry: Entry, row: Any) -> bool:
    """Return whether the index has a file with one of the entry's hashes."""
    values = row.values() if isinstance(row, dict) else [row]
    known = {each for value in values for each in str(value or "").split()}
    return not set(entry.hashes).isdisjoint({*known, *map(_sha1, known)})


def _sha1(text: str) -> str:
    """Return the hash as lock files write it; empty for what is none in hexadecimal."""
    if not re.fullmatch("[0-9a-f]{40}", text):
        return ""
    return f"sha1-{base64.b64encode(bytes.fromhex(text)).decode()}"


def _find_marked(output: str) -> Any:
    """Return the first that a script printed behind the mark; None for what cannot be read."""
    return next(iter(_all_marked(output)), None)


def _all_marked(output: str) -> list[Any]:
    found = []
    for line in output.splitlines():
        if line.startswith(_MARK):
            try:
                found.append(json.loads(line.removeprefix(_MARK)))
            except (ValueError, RecursionError):
                found.append(None)
    return found


class NpmIndex:
    """The part of an Ecosystem that asks the registry npm is configured for in the sandbox."""

    index_setting = "`registry` or `@scope:registry` in npm's configuration"
    _registry: Registry
    _directory = ""

    def name_of(self, package: str) -> str:
        """Return the package's name as lock files write it; Unfit for what is no name."""
        return npm_name(package)

    async def available(self, tree: WorkTree, package: str) -> Sequence[str]:
        """Return the versions that the index effective in the sandbox offers."""
        return await self._registry.available(tree, package)

    async def objection(self, tree: WorkTree, package: str, version: str) -> str:
        """Return why a version must not be taken; empty: take it."""
        return await self._registry.objection(tree, package, version)

    async def find_young(
        self, tree: WorkTree, releases: Collection[tuple[str, str]], newest: date
    ) -> Collection[tuple[str, str]]:
        """Return those that the registry does not show to be published on that day or before."""
        return await self._registry.find_young(tree, releases, newest)

    async def find_other_index(self, tree: WorkTree, locked: Locked, package: str) -> str:
        """Return the host of a registry that is named for the package and not configured here."""
        scope = package.partition("/")[0] if package.startswith("@") else ""
        copies = locked.by_name.get(package, ())
        taken = {place for each in copies if each.source.startswith("http") for place in each.hosts}
        named = await self._list_named_registries(tree, scope)
        return await self._registry.find_unconfigured(tree, scope, {*taken, *named} - {""})

    async def _list_named_registries(self, tree: WorkTree, scope: str) -> Collection[str]:
        """Return the hosts of the registries that settings name for a scope."""
        return {await read_registry(tree, self._directory, scope)}

    async def list_admitting(
        self, tree: WorkTree, parent: str, package: str, version: str
    ) -> Collection[str]:
        """Return the releases of `parent` whose own requirements admit that version."""
        asked = await self._registry.read_needs(tree, npm_name(parent), package)
        every = await self._registry.available(tree, npm_name(parent))
        return [each for each in every if specs.admits(asked.get(each, "*"), version)]
