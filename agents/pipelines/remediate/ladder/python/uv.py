"""uv: uv.lock with the pyproject.toml of its root and of its members."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from agents.pipelines.remediate.ladder.files import (
    LOCK_LIMIT,
    Table,
    host,
    map_keys,
    packages,
    read_name_and_version,
    read_toml,
    resolve_inside,
    tables,
)
from agents.pipelines.remediate.ladder.locked import Entry, Locked, Own
from agents.pipelines.remediate.ladder.python import index
from agents.pipelines.remediate.ladder.python.provided_tools import BASE, Tool, call
from agents.pipelines.remediate.ladder.python.pyproject import (
    list_index_hosts,
    list_requirements,
    require,
)
from agents.pipelines.remediate.ladder.python.toml_overrides import (
    ListedOverrides,
    PyprojectOverrides,
)
from agents.pipelines.remediate.ladder.ranges import PYPI, Scheme
from agents.pipelines.remediate.ladder.values import Accepted, Group, Unfit
from agents.ports import WorkTree

_RELEASES = {0: "<0.6", 1: ">=0.6,<0.6.14", 2: ">=0.7,<0.8", 3: ">=0.9,<0.12"}
"""Which releases write a lock file of each revision: newer ones would rewrite every entry."""

_UV = 'uv=$(command -v uv) && PATH=${PATH#"$tool/bin:"} && "$uv"'
"""uv without the folder that it lies in: it would ask each Python there what it is, in vain."""
_ABOVE = re.compile(r"^(?:\.\./)+")
"""What uv puts before the path of a folder outside of the project, which settings have whole."""
_LOCAL = ("editable", "virtual", "directory")
_OTHER_FORMAT = "`{path}` is of a format that Fettle does not know: version {version}."
_MOST_MEMBERS = 200


def find(paths: frozenset[str], group: Group) -> Uv | None:
    """Return uv for the nearest lock file at or above the group's folder."""
    names = {posixpath.basename(manifest) for manifest in group.manifests}
    if group.ecosystem not in ("pip", "uv") or not names <= {"uv.lock", "pyproject.toml"}:
        return None
    directory = group.directory.strip("/")
    while True:
        if posixpath.join(directory, "uv.lock") in paths:
            return Uv(directory)
        if not directory:
            return None
        directory = posixpath.dirname(directory)


class Uv(index.PythonIndex, PyprojectOverrides):
    """The port Ecosystem for one `uv.lock`."""

    tool = "uv"
    locks = True
    scheme: Scheme = PYPI
    overrides = ListedOverrides("tool", "uv", "override-dependencies")

    def __init__(self, directory: str, *, seconds: float = 300) -> None:
        self._directory = directory
        self._seconds = seconds
        self._lock = posixpath.join(directory, "uv.lock")
        self._root = posixpath.join(directory, "pyproject.toml")
        self._members: tuple[str, ...] = (self._root,)
        self._releases = ""
        self._indexes: frozenset[str] = frozenset()

    @property
    def files(self) -> frozenset[str]:
        """Return the lock file, and the manifests of root and members."""
        return frozenset({self._lock, *self._members})

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now."""
        lock = await read_toml(tree, self._lock, LOCK_LIMIT)
        if lock.get("version") != 1:
            shown = str(lock.get("version"))[:20]
            raise Unfit("unsupported", _OTHER_FORMAT.format(path=self._lock, version=shown))
        found = packages(lock, self._lock)
        entries = _entries(found, self._lock)
        self._members = self._manifests(found)
        self._indexes = self._indexes or _registries(found)
        own: list[Own] = []
        for file in self._members:
            project = await read_toml(tree, file)
            own += list_requirements(project, file)
            if file == self._root:
                self._releases = _releases(lock, project)
        return Locked(entries=entries, own=tuple(own))

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Resolve anew, with nothing moved that need not move."""
        exact = {name: f"=={version}" for name, version in pins.items()}
        for name, versions in self._list_lines(await self.read(tree), pins).items():
            exact[name] = await self._admit_only(tree, name, versions)
        wanted = [*(f"{name}{spec}" for name, spec in exact.items()), *free]
        options = shlex.join(part for each in wanted for part in ("--upgrade-package", each))
        await self._call(tree, f"lock {options}")

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the requirements of root and members so that they admit the version."""
        changes: list[str] = []
        for file in self._members:
            goal = self._find_goal(package, version)
            changes += await require(tree, file, package, goal, widen=widen)
        return changes

    async def verify_lock(self, tree: WorkTree, before: Locked, after: Locked) -> Accepted:
        """Prove that lock file and manifests agree, and that what moved has its hashes."""
        check = self._prepare("lock --check")
        proved = await index.prove(tree, before, after, self._seconds, check)
        return proved.with_commands("uv lock --check")

    async def _list_named_indexes(self, tree: WorkTree, package: str) -> Collection[str]:
        """Return where anything of the lock file comes from: uv asks for all of it at once."""
        await self.read(tree)
        named = list_index_hosts(await read_toml(tree, self._root), package)
        return named | ({host(each) for each in self._indexes} - {""})

    async def _call(self, tree: WorkTree, command: str) -> str:
        return await call(tree, *self._prepare(command), seconds=self._seconds)

    def _prepare(self, command: str) -> tuple[Tool, str]:
        """Return uv with a script; nothing is built, since that would run what strangers wrote."""
        folder = shlex.quote(self._directory or ".")
        limits = find_index_limits(self._indexes)
        body = f"{limits}cd {folder} && {_UV} {command} --no-build --color never"
        return self._tool, body

    @property
    def _tool(self) -> Tool:
        return Tool("uv", (f"uv{self._releases}",))

    @property
    def _base(self) -> Tool:
        return replace(BASE, beside=(self._tool,))

    def _manifests(self, found: Sequence[Table]) -> tuple[str, ...]:
        files = {self._root: None}
        for table in found:
            source = table.get("source")
            for kind in _LOCAL if isinstance(source, dict) else ():
                place = source.get(kind) if isinstance(source, dict) else None
                if isinstance(place, str) and kind != "directory":
                    folder = resolve_inside(self._directory, place, self._lock)
                    files[posixpath.join(folder, "pyproject.toml")] = None
        if len(files) > _MOST_MEMBERS:
            raise Unfit("unsafe", f"`{self._lock}` has more than {_MOST_MEMBERS} members.")
        return tuple(files)


def find_index_limits(indexes: frozenset[str]) -> str:
    """Return what keeps further indexes of the operator out of a lock file that names none of them.

    uv would take from them whatever they have, also what is locked, and write their address.
    """
    if not indexes:
        return ""
    further = '"${UV_INDEX:-} ${UV_FIND_LINKS:-}"'
    named = "|".join(f"*{shlex.quote(_ABOVE.sub('/', each))}*" for each in sorted(indexes))
    return f"case {further} in {named}) ;; *) unset UV_INDEX UV_FIND_LINKS ;; esac; "


def _registries(found: Sequence[Table]) -> frozenset[str]:
    sources = (each.get("source") for each in found)
    named = (each.get("registry") for each in sources if isinstance(each, dict))
    return frozenset(each for each in named if isinstance(each, str) and each)


def _entries(found: Sequence[Table], path: str) -> tuple[Entry, ...]:
    keys = map_keys(found, path)
    return tuple(_entry(table, keys, path) for table in found)


def _entry(table: Table, keys: Mapping[str, list[str]], path: str) -> Entry:
    name, version = read_name_and_version(table, path)
    source = table.get("source")
    source = source if isinstance(source, dict) else {}
    files = [*tables(table.get("wheels")), *tables([table.get("sdist")])]
    return Entry(
        key=f"{name}@{version}",
        name=name,
        version=version,
        source=json.dumps(source, sort_keys=True, default=str),
        hosts=tuple(sorted({host(str(each.get("url", ""))) for each in files} - {""})),
        hashes=tuple(sorted(str(each["hash"]) for each in files if each.get("hash"))),
        needs=tuple(dict.fromkeys(_needs(table, keys))),
        own=any(kind in source for kind in _LOCAL),
    )


def _needs(table: Table, keys: Mapping[str, list[str]]) -> list[str]:
    listed = tables(table.get("dependencies"))
    for part in ("optional-dependencies", "dev-dependencies"):
        groups = table.get(part)
        for group in groups.values() if isinstance(groups, dict) else ():
            listed += tables(group)
    found = []
    for each in listed:
        name, version = str(each.get("name", "")), each.get("version")
        found += [key for key in keys.get(name, ()) if version in (None, key.rpartition("@")[2])]
    return found


def _releases(lock: Table, project: Table) -> str:
    """Return which releases of uv are to be taken, as pip writes it."""
    revision = lock.get("revision", 0)
    releases = _RELEASES.get(revision, "") if isinstance(revision, int) else ""
    tool = project.get("tool")
    settings = tool.get("uv") if isinstance(tool, dict) else None
    wanted = settings.get("required-version") if isinstance(settings, dict) else None
    try:
        return str(SpecifierSet(wanted)) if isinstance(wanted, str) else releases
    except InvalidSpecifier:
        return releases
