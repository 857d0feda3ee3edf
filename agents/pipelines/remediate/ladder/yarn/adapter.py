"""Yarn: yarn.lock with the package.json of root and members; by itself that of 3 and 4."""

from __future__ import annotations

import asyncio
import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from agents.errors import ToolError
from agents.pipelines.remediate.ladder.files import LOCK_LIMIT, read_text
from agents.pipelines.remediate.ladder.locked import Entry, Locked
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.aim import Aim
from agents.pipelines.remediate.ladder.npm.files import (
    Table,
    find_nearest_lock,
    name_host,
    npm_name,
    read_classic_registry,
    read_json,
    read_registry,
    table,
)
from agents.pipelines.remediate.ladder.npm.manifest import (
    add_overrides,
    list_requirements,
    require,
)
from agents.pipelines.remediate.ladder.npm.override_removal import has_overrides, take_out
from agents.pipelines.remediate.ladder.npm.registry import NpmIndex, Registry
from agents.pipelines.remediate.ladder.npm.tools import NpmTool, Staged, call, harmless, to_json
from agents.pipelines.remediate.ladder.pnpm.catalogs import list_catalog_requirements
from agents.pipelines.remediate.ladder.pnpm.yaml_text import load_yaml
from agents.pipelines.remediate.ladder.ranges import NPM, Scheme
from agents.pipelines.remediate.ladder.values import Accepted, Group, Stuck, Target, Unfit
from agents.pipelines.remediate.ladder.yarn import lock as locks
from agents.pipelines.remediate.ladder.yarn.classic import ClassicYarn
from agents.pipelines.remediate.ladder.yarn.override_entries import plan_entries
from agents.pipelines.remediate.ladder.yarn.resolutions import (
    PLACE,
    find_entries,
    list_resolutions,
)
from agents.ports import WorkTree

_LOCK, _SETTINGS, _SERVER = "yarn.lock", ".yarnrc.yml", "npmRegistryServer"
_NAMES = {_LOCK, "package.json"}
_DECIDING = ("plugins", "packageExtensions", "defaultProtocol", "npmScopes")
"""Settings that decide what is locked, by programs or from elsewhere."""
_CATALOGS = ("catalog", "catalogs")
_PLAIN = re.compile(
    r"(?:.*/)?@yarnpkg/plugin-"
    r"(?:constraints|interactive-tools|stage|typescript|version|workspace-tools)(?:\.cjs)?"
)
"""Yarn's own plugins that add commands alone: Yarn 3 has them as files, Yarn 4 within itself."""

_YARN = """\
server=${{npm_config_registry:-$(npm config get registry)}}
case $server in
  http://*) host=${{server#http://}}; host=${{host%%[:/]*}}
    export YARN_UNSAFE_HTTP_WHITELIST="$host" ;;
esac
export YARN_NPM_REGISTRY_SERVER="$server" YARN_IGNORE_PATH=1 YARN_ENABLE_NETWORK=1
export YARN_ENABLE_TELEMETRY=0 YARN_ENABLE_SCRIPTS=0 YARN_ENABLE_IMMUTABLE_INSTALLS=0
export YARN_ENABLE_COLORS=0 YARN_ENABLE_PROGRESS_BARS=0 YARN_ENABLE_GLOBAL_CACHE=0
export YARN_GLOBAL_FOLDER="$work/global" YARN_CACHE_FOLDER="$work/cache"{more}
{body}
"""
_IN_THE_PROCESS = " YARN_TASK_POOL_MODE=async"
"""Yarn 4 packs what it fetches in threads of its own, each of which starts with all of Yarn: that
takes longer than to pack a few packages."""
_FEW = 40
_RESOLVE = """\
{free}yarn install --mode=update-lockfile || exit 1
cp -- yarn.lock "$tree"/{lock}
"""
_SET = """\
{sets}
cp -- yarn.lock "$tree"/{lock}
"""
_FROZEN = "yarn install --immutable --mode=skip-build"
_SETTING = (
    "`{file}` sets `{name}`, which decides what Yarn locks. Fettle does not obey it, and without it"
    " Yarn would lock something else."
)
_CATALOGUED = (
    "a catalog in `{file}` asks for `{name}` `{asked}`, and a run does not change that file: write"
    " `{wanted}` there and run `yarn install`."
)
_FORMAT = (
    "Yarn {release} writes lock files of format {new}, and `{path}` is of {old}: name the release"
    " that wrote it as `packageManager` in package.json."
)


def find(paths: frozenset[str], group: Group) -> Yarn | None:
    """Return Yarn for the nearest lock file at or above the group's folder."""
    names = {posixpath.basename(manifest) for manifest in group.manifests}
    if group.ecosystem not in ("npm", "yarn") or not names <= _NAMES:
        return None
    lock = find_nearest_lock(paths, group.directory, (_LOCK,))
    if lock is None:
        return None
    below = posixpath.join(posixpath.dirname(lock), "")
    manifests = (path for path in paths if posixpath.basename(path) == "package.json")
    return Yarn(below.rstrip("/"), sorted(path for path in manifests if path.startswith(below)))


class Yarn(NpmIndex):
    """The port Ecosystem for one `yarn.lock`."""

    tool = "Yarn"
    locks = True
    scheme: Scheme = NPM

    def __init__(
        self, directory: str, manifests: Sequence[str] = (), *, seconds: float = 300
    ) -> None:
        self._directory = directory
        self._seconds = seconds
        self._registry = Registry(seconds)
        self._lock = posixpath.join(directory, _LOCK)
        self._root = posixpath.join(directory, "package.json")
        self._settings = posixpath.join(directory, _SETTINGS)
        self._members: tuple[str, ...] = (self._root,)
        self._catalogs: Table = {}
        self._release = self._compression = self._format = ""
        self._aim = Aim()
        self._has_new_asks = False
        """Whether manifests may ask for ranges by now that the lock file has not."""
        self._classic = ClassicYarn(directory, manifests, self._registry, seconds=seconds)
        self._is_classic = False

    @property
    def files(self) -> frozenset[str]:
        """Return the lock file, and the manifests of root and members."""
        return frozenset({self._lock, *self._members})

    def aim(self, targets: Sequence[Target]) -> None:
        """Take where each vulnerable version goes: a lock of Yarn holds several of one package."""
        self._aim = Aim.from_targets(targets)

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now."""
        text = await read_text(tree, self._lock, LOCK_LIMIT)
        self._is_classic = locks.is_classic(text)
        if self._is_classic:
            locked = await self._classic.read(tree)
            self._members = self._classic.members
            return locked
        lock = await self._read_lock(tree)
        await self._require_plain_settings(tree)
        self._catalogs = await self._read_catalogs(tree)
        self._release = locks.release_of(lock, await read_json(tree, self._root))
        self._compression, self._format = locks.compression_of(lock), locks.format_of(lock)
        self._members = locks.members_of(lock, self._directory, self._lock)
        own = [
            each
            for f in self._members
            for each in list_requirements(await read_json(tree, f), f, PLACE * (f == self._root))
        ]
        own += list_catalog_requirements(self._catalogs, self._settings)
        lock = locks.follow_catalogs(lock, self._catalogs)
        resolutions = list_resolutions(await read_json(tree, self._root), self._root)
        entries = await asyncio.to_thread(locks.entries_of, lock, self._lock, resolutions)
        return Locked(entries=entries, own=tuple(own))

    async def _list_named_registries(self, tree: WorkTree, scope: str) -> Collection[str]:
        """Return those of the settings in the lock file's folder and above, as Yarn looks."""
        folders = [self._directory]
        while folders[-1]:
            folders.append(posixpath.dirname(folders[-1]))
        if self._is_classic:
            readers = (read_registry, read_classic_registry)
            return {await read(tree, folder, scope) for folder in folders for read in readers}
        said = [await self._read_settings(tree, folder) for folder in folders]
        return {name_host(str(each.get(_SERVER) or "")) for each in said}

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Resolve anew, with nothing moved that need not move.

        What the manifests ask for by now is locked first, if Fettle has changed them; then Yarn is
        told, for each range that admits it, which release it leads to, and locks all anew
        (yarnpkg.com/cli/set/resolution).
        """
        old = await read_text(tree, self._lock, LOCK_LIMIT)
        before = await self.read(tree)
        if self._is_classic:
            await self._classic.relock(tree, self._aim, pins, free)
            return
        moving = self._aim.plan_moves(before, pins)
        await self._prove(tree, [before.by_key[key] for key in moving])
        is_set = not self._has_new_asks and await self._set(tree, before, before, moving, pins)
        if is_set and not self._aim.has_unmoved(await self.read(tree)):
            return
        for names in ((), free) if free else ((),):
            await tree.write(self._lock, old.encode())
            up = f"yarn up -R {shlex.join(map(npm_name, names))} --mode=update-lockfile || exit 1\n"
            lock = shlex.quote(self._lock)
            await self._call(tree, _RESOLVE.format(free=up if names else "", lock=lock))
            after = await self.read(tree)
            if await self._set(tree, before, after, moving, pins):
                after = await self.read(tree)
            if not self._aim.has_unmoved(after):
                return

    async def _set(
        self,
        tree: WorkTree,
        before: Locked,
        after: Locked,
        moving: Mapping[str, tuple[str, str]],
        pins: Mapping[str, str],
    ) -> bool:
        """Have Yarn lead ranges to their new releases; return whether any was to be led."""
        sets = "\n".join(self._list_sets(before, after, moving, pins))
        if sets:
            await self._call(tree, _SET.format(sets=sets, lock=shlex.quote(self._lock)))
        return bool(sets)

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the requirements of root and members so that they admit the version.

        Raises Stuck for one in a catalog: what stands beside it decides where Yarn installs from,
        and which programs of the repository it runs, so people alone change that file.
        """
        self._has_new_asks = True
        goal = partial(self._aim.find_wanted_version, package, version=version)
        changes: list[str] = []
        for file in self._members:
            place = PLACE * (file == self._root)
            changes += await require(tree, file, package, goal, widen=widen, place=place)
        for each in list_catalog_requirements(self._catalogs, self._settings):
            wanted = goal(each.spec) if each.name == package else ""
            if wanted and not specs.admits(each.spec, wanted):
                about = {"file": self._settings, "name": package, "asked": each.spec}
                raise Stuck(_CATALOGUED.format(**about, wanted=wanted))
        return changes

    async def override(self, tree: WorkTree, targets: Sequence[Target], reason: str, /) -> None:
        """Add to `resolutions`, for what leads to the vulnerable copies alone."""
        self._has_new_asks = True
        locked, aim = await self.read(tree), Aim.from_targets(targets)
        if self._is_classic:
            entries = await self._classic.plan_overrides(tree, locked, aim)
        else:
            lock = locks.follow_catalogs(await self._read_lock(tree), self._catalogs)
            entries = await asyncio.to_thread(plan_entries, lock, locked, aim)
        await add_overrides(tree, self._root, PLACE, entries, reason)

    async def has_override(self, tree: WorkTree, targets: Sequence[Target], reason: str, /) -> bool:
        """Return whether those entries are there, as they were written."""
        entries = find_entries(await read_json(tree, self._root), targets, reason)
        return await has_overrides(tree, self._root, PLACE, entries, reason)

    async def without_override(
        self, tree: WorkTree, targets: Sequence[Target], reason: str, /
    ) -> Sequence[str]:
        """Take those entries out."""
        self._has_new_asks = True
        if not await self.has_override(tree, targets, reason):
            raise Stuck(f"`{self._root}` overrides nothing of the kind.")
        entries = find_entries(await read_json(tree, self._root), targets, reason)
        await take_out(tree, self._root, PLACE, entries)
        return []

    async def verify_lock(self, tree: WorkTree, _before: Locked, _after: Locked) -> Accepted:
        """Prove that lock file and manifests agree, and that all of it installs as it is locked."""
        if self._is_classic:
            await self._classic.verify(tree)
            return Accepted(commands=("yarn install --frozen-lockfile --ignore-scripts",))
        await self._call(tree, _FROZEN)
        return Accepted(commands=(_FROZEN,))

    def _list_sets(
        self,
        before: Locked,
        after: Locked,
        moving: Mapping[str, tuple[str, str]],
        pins: Mapping[str, str],
    ) -> Iterator[str]:
        """Yield a command for each range that is to lead to another release than it does."""
        held = {each: e for e in before.entries for each in locks.list_descriptors(e.key)}
        for entry in after.entries:
            if entry.own or entry.name not in pins:
                continue
            for descriptor in locks.list_descriptors(entry.key):
                asked, was = locks.range_of(descriptor), held.get(descriptor)
                new = moving[was.key][1] if was is not None and was.key in moving else ""
                if was is None:  # a range that the manifests did not have before
                    new = self._aim.choose_release(entry.name, asked, pins[entry.name])
                if new and entry.version != new and specs.admits(asked, new):
                    words = ("yarn", "set", "resolution", descriptor, f"npm:{new}")
                    yield f"{shlex.join(words)} || exit 1"

    async def _prove(self, tree: WorkTree, entries: Sequence[Entry]) -> None:
        """Have Yarn fetch these alone, and hold each against the checksum that is locked.

        So a public package never takes the place of a private one of its name.
        """
        hashed = [entry for entry in entries if entry.hashes]
        if not hashed:
            return
        lock = await self._read_lock(tree)
        asked = {f"p{at}": f"npm:{e.name}@{e.version}" for at, e in enumerate(hashed)}
        proof: Table = {"__metadata": lock["__metadata"]}
        for at, entry in enumerate(hashed):
            proof[f"p{at}@npm:{entry.name}@{entry.version}"] = {
                "version": entry.version,
                "resolution": f"{entry.name}@npm:{entry.version}",
                "checksum": entry.hashes[0],
                "languageName": "node",
                "linkType": "hard",
            }
        files = {"package.json": to_json({"name": "proof", "dependencies": asked})}
        body = "yarn install --mode=skip-build"
        staged = Staged(files={**files, _LOCK: to_json(proof)})
        await self._call(tree, body, staged)

    async def _call(self, tree: WorkTree, body: str, staged: Staged | None = None) -> str:
        tool = NpmTool("yarn", self._release, package="@yarnpkg/cli-dist")
        if staged is None:
            files = {self._lock: (await read_text(tree, self._lock, LOCK_LIMIT)).encode()}
            for file in self._members:
                files[file] = harmless(await read_json(tree, file))
            for file in locks.patches_of(await self._read_lock(tree), self._directory, self._lock):
                files[file] = (await read_text(tree, file)).encode()
            if catalogs := await self._read_catalogs(tree):
                files[self._settings] = to_json(catalogs)
            staged = Staged(self._directory, files)
        level = self._compression
        more = f" YARN_COMPRESSION_LEVEL={level}" if level else ""
        locked = sum(data.count(b"resolution") for data in staged.files.values())
        if locked <= _FEW and not self._release.startswith(("2.", "3.")):  # which refuse it
            more += _IN_THE_PROCESS
        script = _YARN.format(body=body, more=more)
        return await call(tree, script, seconds=self._seconds, tool=tool, staged=staged)

    async def _read_lock(self, tree: WorkTree) -> Table:
        text = await read_text(tree, self._lock, LOCK_LIMIT)
        lock = await asyncio.to_thread(locks.load_lock, text, self._lock)
        now = locks.format_of(lock)
        if self._format and now != self._format:
            about = {"release": self._release, "new": now, "old": self._format}
            raise Stuck(_FORMAT.format(path=self._lock, **about))
        return lock

    async def _read_catalogs(self, tree: WorkTree) -> Table:
        said = await self._read_settings(tree, self._directory)
        return {name: said[name] for name in _CATALOGS if table(said.get(name))}

    async def _require_plain_settings(self, tree: WorkTree) -> None:
        """Raise Unfit for settings that decide what is locked."""
        said = await self._read_settings(tree, self._directory)
        for name in _DECIDING:
            if said.get(name) and not (name == "plugins" and _are_plain(said[name])):
                raise Unfit("unsupported", _SETTING.format(file=self._settings, name=name))

    async def _read_settings(self, tree: WorkTree, directory: str) -> Table:
        """Return what a `.yarnrc.yml` says; nothing where there is none."""
        file = posixpath.join(directory, _SETTINGS)
        try:
            text = (await tree.read(file)).decode("utf-8", "replace")
        except ToolError:
            return {}
        return await asyncio.to_thread(load_yaml, text, file) if text.strip() else {}


def _are_plain(plugins: object) -> bool:
    """Return whether what is locked is the same without these plugins."""
    listed = plugins if isinstance(plugins, list) else [plugins]
    named = (each.get("spec") if isinstance(each, dict) else each for each in listed)
    return all(isinstance(each, str) and _PLAIN.fullmatch(each) for each in named)
