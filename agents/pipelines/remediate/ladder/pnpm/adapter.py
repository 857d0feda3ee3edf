"""pnpm: pnpm-lock.yaml with the package.json of root and members, and pnpm-workspace.yaml."""

from __future__ import annotations

import asyncio
import posixpath
import secrets
import shlex
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from agents.pipelines.remediate.ladder.files import LOCK_LIMIT, read_text, resolve_inside
from agents.pipelines.remediate.ladder.locked import Entry, Locked
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.aim import Aim
from agents.pipelines.remediate.ladder.npm.files import (
    Table,
    find_nearest_lock,
    name_host,
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
    require_new,
)
from agents.pipelines.remediate.ladder.npm.override_removal import has_overrides, take_out
from agents.pipelines.remediate.ladder.npm.registry import MovedPackages, NpmIndex, Registry
from agents.pipelines.remediate.ladder.npm.tools import (
    NpmTool,
    Staged,
    call,
    harmless,
    to_json,
)
from agents.pipelines.remediate.ladder.pnpm import lock as locks
from agents.pipelines.remediate.ladder.pnpm import settings
from agents.pipelines.remediate.ladder.pnpm.catalogs import (
    list_catalog_requirements,
    pin_catalogs,
    require_catalogued,
)
from agents.pipelines.remediate.ladder.pnpm.override_removal import without_overrides
from agents.pipelines.remediate.ladder.pnpm.yaml_text import load_yaml, with_entries
from agents.pipelines.remediate.ladder.ranges import NPM, Scheme
from agents.pipelines.remediate.ladder.values import Accepted, Group, Stuck, Target, run_all
from agents.ports import WorkTree

_LOCK, _WORKSPACE, _PINNED = "pnpm-lock.yaml", "pnpm-workspace.yaml", ".fettle-pinned"
_NAMES = {_LOCK, _WORKSPACE, "package.json"}
_RELOCK = """\
pnpm() {{ command pnpm "$@" --lockfile-only --ignore-scripts --ignore-pnpmfile {options}; }}
{free}
{first}
pnpm install --no-frozen-lockfile >"$work/said" || {{ cat "$work/said"; exit 1; }}
cp -- pnpm-lock.yaml "$tree"/{lock}
wait
test -e "$work/{accepted}" && cmp -s pnpm-lock.yaml "$work/guess/pnpm-lock.yaml" && echo {accepted}
true
"""
_FIRST = """\
cp -- pnpm-lock.yaml "$work/before"
for file in {files}; do
  cp -- "$file" "$file.clean" && mv -f -- "$file{pinned}" "$file" || exit 98
done
pnpm install --no-frozen-lockfile >"$work/said" || {{ cat "$work/said"; exit 1; }}
for file in {files}; do mv -f -- "$file.clean" "$file" || exit 98; done
{guess}
"""
_GUESS = """\
cp -R -- . "$work/guess"
awk '
  NR == FNR {{ if (/^ +specifier: /) asked[n++] = $0; next }}
  /^ +specifier: / {{ if ((m + 0) in asked) $0 = asked[m + 0]; m++ }}
  /^overrides:/ {{ skip = 1 }}
  !skip
  /^$/ {{ skip = 0 }}
' "$work/before" pnpm-lock.yaml >"$work/guess/pnpm-lock.yaml"
( cd -- "$work/guess" && pnpm install --frozen-lockfile && touch "$work/{accepted}" ) \\
  >/dev/null 2>&1 &
"""
"""Has pnpm check, while it resolves the second time, what that will most probably come to."""
_FREE = "pnpm update -r --no-save {names} >&2 || exit 1"
_STORE = 'export npm_config_store_dir="$HOME/store" pnpm_config_store_dir="$HOME/store"\n'
"""In the sandbox's home, which lies in memory: pnpm makes 512 folders first, though locking stores
nothing, and on a disk these take as long as all the rest."""
_PLACE = ("pnpm", "overrides")
_MOST_ABOVE = 3
_HELD = "{above.name} {above.version} asks for {name} {asked}, which no newer release is."
_FROZEN = "pnpm install --frozen-lockfile --lockfile-only --ignore-scripts --ignore-pnpmfile {}"


def find(paths: frozenset[str], group: Group) -> Pnpm | None:
    """Return pnpm for the nearest lock file at or above the group's folder."""
    names = {posixpath.basename(manifest) for manifest in group.manifests}
    if group.ecosystem not in ("npm", "pnpm") or not names <= _NAMES:
        return None
    lock = find_nearest_lock(paths, group.directory, (_LOCK,))
    if lock is None:
        return None
    directory = posixpath.dirname(lock)
    return Pnpm(directory, workspace=posixpath.join(directory, _WORKSPACE) in paths)


class Pnpm(NpmIndex):
    """The port Ecosystem for one `pnpm-lock.yaml`."""

    tool = "pnpm"
    locks = True
    scheme: Scheme = NPM

    def __init__(self, directory: str, *, workspace: bool, seconds: float = 300) -> None:
        self._directory = directory
        self._seconds = seconds
        self._registry = Registry(seconds)
        self._lock = posixpath.join(directory, _LOCK)
        self._root = posixpath.join(directory, "package.json")
        self._workspace = posixpath.join(directory, _WORKSPACE)
        self._has_workspace = workspace
        self._members: tuple[str, ...] = (self._root,)
        self._release = ""
        self._aim = Aim()
        self._accepted: tuple[Staged, str] | None = None
        """What pnpm has accepted frozen, if that is what it locked last."""

    @property
    def files(self) -> frozenset[str]:
        """Return the lock file, the manifests of root and members, and the workspace's file."""
        return frozenset({self._lock, self._workspace, *self._members})

    def aim(self, targets: Sequence[Target]) -> None:
        """Take where each vulnerable version goes: a lock of pnpm holds several of one package."""
        self._aim = Aim.from_targets(targets)

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now."""
        lock = await self._read_lock(tree)
        self._release = settings.release(
            locks.format_of(lock, self._lock), await read_json(tree, self._root)
        )
        self._members = locks.manifests_of(lock, self._directory, self._lock)
        own = [
            each
            for f in self._members
            for each in list_requirements(await read_json(tree, f), f, _PLACE * (f == self._root))
        ]
        own += list_catalog_requirements(await self._read_workspace(tree), self._workspace)
        entries = await asyncio.to_thread(locks.entries_of, lock, self._lock)
        return Locked(entries=entries, own=tuple(own))

    async def _list_named_registries(self, tree: WorkTree, scope: str) -> Collection[str]:
        said = await self._read_workspace(tree)
        registries = table(said.get("registries"))
        url = registries.get(scope) or registries.get("default") or said.get("registry") or ""
        return {*await super()._list_named_registries(tree, scope), name_host(str(url))}

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Resolve anew, with nothing moved that need not move.

        pnpm takes no version for a package that others need. So overrides say it while it resolves
        once, and then it resolves again without: what nobody admits goes back to where it was.
        Where the repository alone asks for it, and for that release alone, once is enough.
        """
        locked = await self.read(tree)
        moving = self._aim.plan_moves(locked, pins)
        await self._require_movable(tree, locked, moving, {*pins, *free})
        await self._registry.require_same(tree, [locked.by_key[key] for key in moving])
        old = await read_text(tree, self._lock, LOCK_LIMIT)
        for names in ((), free) if free else ((),):
            await tree.write(self._lock, old.encode())
            accepted = await self._resolve(tree, locked, moving, names)
            new = await read_text(tree, self._lock, LOCK_LIMIT)
            kept = locks.remove_new_tarballs(old, new)
            await tree.write(self._lock, kept.encode())
            self._accepted = await self._stage(tree) if accepted and kept == new else None
            if not self._aim.has_unmoved(await self.read(tree)):
                return

    async def _require_movable(
        self,
        tree: WorkTree,
        locked: Locked,
        moving: Mapping[str, tuple[str, str]],
        loose: Collection[str],
    ) -> None:
        """Raise Stuck where a package that stays where it is asks for a copy as it is, as by a pin.

        pnpm would come to nothing else, but takes longer. With overrides, or where many ask for
        it, it is for pnpm to say.
        """
        own = table((await read_json(tree, self._root)).get("pnpm"))
        if own.get("overrides") or (await self._read_workspace(tree)).get("overrides"):
            return
        for entry in (locked.by_key[key] for key in moving):
            above = [locked.by_key[key] for key in locked.needed_by_of(entry)]
            staying = [each for each in above if not each.own and each.name not in loose]
            if self._aim.find_target(entry) and len(staying) <= _MOST_ABOVE:
                for each in staying:
                    await self._require_admitting(tree, locked, each, entry)

    async def _require_admitting(
        self, tree: WorkTree, locked: Locked, above: Entry, entry: Entry
    ) -> None:
        if await self.find_other_index(tree, locked, above.name):
            return
        needs = await self._registry.read_needs(tree, above.name, entry.name, peers=False)
        asked = needs.get(above.version, "")
        offered = await self._registry.available(tree, entry.name)
        newer = [version for version in offered if NPM.newer(version, entry.version)]
        if specs.is_range(asked) and not any(specs.admits(asked, version) for version in newer):
            raise Stuck(_HELD.format(above=above, name=entry.name, asked=asked))

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the requirements of root, members and catalogs so that they admit the version."""
        goal = partial(self._aim.find_wanted_version, package, version=version)
        changes: list[str] = []
        for file in self._members:
            place = _PLACE * (file == self._root)
            changes += await require(tree, file, package, goal, widen=widen, place=place)
        if self._has_workspace:
            changes += await require_catalogued(tree, self._workspace, package, goal, widen=widen)
        return changes

    async def override(self, tree: WorkTree, targets: Sequence[Target], reason: str, /) -> None:
        """Add to pnpm's overrides, for the versions from the old one up to the new one alone."""
        entries = entries_of(targets)
        if not await self._overrides_in_workspace(tree):
            await add_overrides(tree, self._root, _PLACE, entries, reason)
            return
        text = await read_text(tree, self._workspace) if self._has_workspace else ""
        there = table(load_yaml(text, self._workspace).get("overrides"))
        require_new(there, entries, self._workspace)
        changed = with_entries(text, "overrides", entries, reason)
        await tree.write(self._workspace, changed.encode())
        self._has_workspace = True

    async def has_override(self, tree: WorkTree, targets: Sequence[Target], reason: str, /) -> bool:
        """Return whether those entries are there, in either place, as they were written."""
        entries = entries_of(targets)
        in_root = await has_overrides(tree, self._root, _PLACE, entries, reason)
        return await self._remove_entries(tree, entries, reason) is not None or in_root

    async def without_override(
        self, tree: WorkTree, targets: Sequence[Target], reason: str, /
    ) -> Sequence[str]:
        """Take those entries out; a file that was made for them goes with them."""
        entries = entries_of(targets)
        if not await self.has_override(tree, targets, reason):
            raise Stuck(f"`{self._root}` and `{self._workspace}` override nothing of the kind.")
        if await has_overrides(tree, self._root, _PLACE, entries, reason):
            await take_out(tree, self._root, _PLACE, entries)
        text = await self._remove_entries(tree, entries, reason)
        if text:
            await tree.write(self._workspace, text.encode())
        elif text is not None:
            await tree.run(["rm", "-f", "--", self._workspace], timeout=60)
            self._has_workspace = False
            return [self._workspace]
        return []

    async def _remove_entries(
        self, tree: WorkTree, entries: Mapping[str, str], reason: str
    ) -> str | None:
        """Return pnpm-workspace.yaml without these entries; None where they are not in it."""
        if not self._has_workspace:
            return None
        text = await read_text(tree, self._workspace)
        return await asyncio.to_thread(without_overrides, text, self._workspace, entries, reason)

    async def verify_lock(self, tree: WorkTree, before: Locked, after: Locked) -> Accepted:
        """Prove that lock file and manifests agree, and that what moved has its hashes."""
        moved = MovedPackages.from_locks(before, after)
        await run_all(self._registry.fetch(tree, moved), self._check_frozen(tree))
        ran = "pnpm install --frozen-lockfile --lockfile-only"
        return Accepted(commands=(ran,), fetched=moved.fetched, notes=tuple(moved.notes))

    async def _check_frozen(self, tree: WorkTree) -> None:
        """Have pnpm check the lock file against the manifests, unless it has checked just these."""
        staged, options = await self._stage(tree)
        if (staged, options) != self._accepted:
            await self._call(tree, _FROZEN.format(options), staged)

    async def _stage(self, tree: WorkTree) -> tuple[Staged, str]:
        """Return all that decides what pnpm says of the files: themselves, and options."""
        files = await self._files(tree)
        return Staged(self._directory, files), shlex.join(await self._options(tree))

    async def _resolve(
        self,
        tree: WorkTree,
        locked: Locked,
        moving: Mapping[str, tuple[str, str]],
        free: Sequence[str],
    ) -> bool:
        """Have pnpm lock with pins, then without; return whether it accepts that as it is."""
        staged, options = await self._stage(tree)
        accepted = f"accepted-{secrets.token_hex(8)}"
        pinned: dict[str, Table] = {}
        guess = False
        if not _is_pinned(locked, moving):
            pinned, guess = await self._pin(tree, staged, locked, moving)
        files = shlex.join(map(posixpath.basename, pinned))
        text = _GUESS.format(accepted=accepted) if guess else ""
        first = _FIRST.format(files=files, pinned=_PINNED, guess=text)
        script = _RELOCK.format(
            options=options,
            free=_FREE.format(names=shlex.join(map(npm_name, free))) if free else "",
            first=first if pinned else "",
            lock=shlex.quote(self._lock),
            accepted=accepted,
        )
        asked = {f"{file}{_PINNED}": to_json(said) for file, said in pinned.items()}
        with_pins = Staged(self._directory, {**staged.files, **asked})
        return accepted in await self._call(tree, script, with_pins)

    async def _pin(
        self,
        tree: WorkTree,
        staged: Staged,
        locked: Locked,
        moving: Mapping[str, tuple[str, str]],
    ) -> tuple[dict[str, Table], bool]:
        """Return the files that lead pnpm to where copies go, and whether it overruled nothing."""
        in_workspace = await self._overrides_in_workspace(tree)
        files = {self._workspace, self._root} & staged.files.keys()
        said = {file: parse_json(staged.files[file].decode(), file) for file in files}
        file = self._workspace if in_workspace else self._root
        holder = said[file] if in_workspace else said[file].setdefault("pnpm", {})
        own = table(holder.get("overrides"))
        holder["overrides"] = {**own, **_pins(locked, moving)}
        moves = {(name, locked.by_key[key].version): new for key, (name, new) in moving.items()}
        pin_catalogs(table(said.get(self._workspace)), await self._read_lock(tree), moves)
        changed = {f: each for f, each in said.items() if to_json(each) != staged.files[f]}
        return changed, not own

    async def _files(self, tree: WorkTree) -> dict[str, bytes]:
        """Return what pnpm may see: JSON is YAML as well."""
        said = settings.workspace(await self._read_workspace(tree), self._workspace)
        files = {self._lock: (await read_text(tree, self._lock, LOCK_LIMIT)).encode()}
        for file in self._members:
            whole = settings.manifest(await read_json(tree, file), file)
            files[file] = harmless(whole)
            for patch in settings.patches(said, table(whole.get("pnpm"))):
                path = resolve_inside(self._directory, patch, file)
                files[path] = (await read_text(tree, path)).encode()
        if self._has_workspace or self._newest:
            files[self._workspace] = to_json(said)
        return files

    async def _overrides_in_workspace(self, tree: WorkTree) -> bool:
        """Return which file pnpm takes overrides from: older releases know one, newer the other."""
        own = table((await read_json(tree, self._root)).get("pnpm"))
        there = self._has_workspace and self._release == "10" and "overrides" not in own
        return self._newest or there

    @property
    def _newest(self) -> bool:
        return self._release not in ("8", "9", "10")

    async def _options(self, tree: WorkTree) -> list[str]:
        lock, said = await self._read_lock(tree), await self._read_workspace(tree)
        return await settings.options(tree, self._directory, said, lock)

    async def _read_workspace(self, tree: WorkTree) -> Table:
        """Return what pnpm-workspace.yaml says."""
        if not self._has_workspace:
            return {}
        return load_yaml(await read_text(tree, self._workspace), self._workspace)

    async def _read_lock(self, tree: WorkTree) -> Table:
        text = await read_text(tree, self._lock, LOCK_LIMIT)
        return await asyncio.to_thread(load_yaml, text, self._lock)

    async def _call(self, tree: WorkTree, script: str, staged: Staged) -> str:
        tool, script = NpmTool("pnpm", self._release), f"{_STORE}{script}"
        return await call(tree, script, seconds=self._seconds, tool=tool, staged=staged)


def _is_pinned(locked: Locked, moving: Mapping[str, tuple[str, str]]) -> bool:
    """Return whether the repository's own requirements lead to these releases, and nowhere else."""
    above = (locked.by_key[each] for key in moving for each in locked.needed_by.get(key, ()))
    stated = [(locked.find_requirements(name), new) for name, new in moving.values()]
    return all(each.own for each in above) and all(
        owns and all(own.spec == new and not own.overrules for own in owns) for owns, new in stated
    )


def _pins(locked: Locked, moving: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return overrides that hold for those who need the moving copies, and for nobody else."""
    pins = {}
    for key, (name, new) in moving.items():
        entry = locked.by_key[key]
        for above in (locked.by_key[each] for each in locked.needed_by_of(entry)):
            if above.own:
                pins[f"{name}@>={entry.version} <={new}"] = new
            elif above.version:
                pins[f"{above.name}@{above.version}>{name}"] = new
    return pins
