"""PDM: pdm.lock with the pyproject.toml beside it, by a release that writes that format."""

from __future__ import annotations

import asyncio
import json
import posixpath
import re
import shlex
from collections.abc import Collection, Mapping, Sequence

import tomlkit
from packaging.utils import canonicalize_name

from agents.pipelines.remediate.ladder.files import (
    LOCK_LIMIT,
    Table,
    host,
    packages,
    read_name_and_version,
    read_text,
    read_toml,
    tables,
    texts,
)
from agents.pipelines.remediate.ladder.locked import Entry, Locked, Own
from agents.pipelines.remediate.ladder.python import index
from agents.pipelines.remediate.ladder.python.provided_tools import Tool, call
from agents.pipelines.remediate.ladder.python.pyproject import (
    POETRY,
    Editing,
    find_table,
    list_index_hosts,
    list_requirements,
    parse_requirement,
    parse_toml,
    require,
)
from agents.pipelines.remediate.ladder.python.toml_overrides import (
    KeyedOverrides,
    PyprojectOverrides,
)
from agents.pipelines.remediate.ladder.ranges import PYPI, Scheme
from agents.pipelines.remediate.ladder.values import Accepted, Group, Stuck, Unfit
from agents.ports import WorkTree

_RELEASES = {
    "4.5.0": "pdm[locked]>=2.17,<2.29",
    "4.5.1": "pdm[locked]>=2.29,<3",
}
"""Which releases write a lock file of each format; `locked` are the dependencies that they were
tested with. Earlier releases do not say those, and fail with the ones of today."""

_PINS = "fettle-pins"
"""A group of requirements that holds packages at their versions while PDM resolves."""
_MANIFEST = ".fettle-pyproject.toml"
_LOCK = ".fettle-pdm.lock"
_GROUP_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")

_COPY = """\
tree=$PWD
work=$(mktemp -d)
trap 'cd / && rm -rf -- "$work"' EXIT
export PDM_CHECK_UPDATE=false PDM_USE_VENV=false PDM_IGNORE_SAVED_PYTHON=true
cd -- {directory} || exit 98
"""
"""PDM runs on a copy of the two files: of a project's folder it runs plugins and builds."""
_RELOCK = """\
cp -- pyproject.toml "$work/kept" && mv -f -- {manifest} "$work/pyproject.toml" &&
  mv -f -- {lock} "$work/pdm.lock" && cd "$work" || exit 98
pdm lock {options} -d -G {pins} || exit 1
mv -f kept pyproject.toml && pdm lock {options} || exit 1
cp -- pdm.lock "$tree"/{directory}/pdm.lock
"""
_CHECK = """\
cp -- pyproject.toml pdm.lock "$work" && cd "$work" || exit 98
pdm lock --check --skip :all >/dev/null
"""
_FORM = (
    "`{path}` has the format {form}, which no release of PDM that Fettle runs writes. Lock again"
    " with PDM 2.17 or newer, then ask again."
)
_TARGETS = (
    "`{path}` is locked for several platforms one by one, which Fettle cannot do again. Run"
    " `pdm update {name}` for each of them, commit, then ask again."
)


_OVERRULED = (
    "`{own.file}` overrules all that asks for {own.name} with `{own.spec}`, so PDM would lock that"
    " again the next time, whatever is locked now."
)
_OVERRIDES = ("tool", "pdm", "resolution", "overrides")


def find(paths: frozenset[str], group: Group) -> Pdm | None:
    """Return PDM for the lock file in the group's folder."""
    directory = group.directory.strip("/")
    names = {posixpath.basename(manifest) for manifest in group.manifests}
    known = names <= {"pdm.lock", "pyproject.toml"} and group.ecosystem == "pip"
    there = {posixpath.join(directory, name) for name in ("pdm.lock", "pyproject.toml")}
    return Pdm(directory, group.package) if known and there <= paths else None


class Pdm(index.PythonIndex, PyprojectOverrides):
    """The port Ecosystem for one `pdm.lock`."""

    tool = "PDM"
    locks = True
    scheme: Scheme = PYPI
    overrides = KeyedOverrides(*_OVERRIDES)

    def __init__(self, directory: str, package: str, *, seconds: float = 300) -> None:
        self._directory = directory
        self._package = package
        self._seconds = seconds
        self._lock = posixpath.join(directory, "pdm.lock")
        self._root = posixpath.join(directory, "pyproject.toml")
        self._release = ""
        self._groups: tuple[str, ...] = ()

    @property
    def files(self) -> frozenset[str]:
        """Return the lock file and the manifest."""
        return frozenset({self._lock, self._root})

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now."""
        lock = await read_toml(tree, self._lock, LOCK_LIMIT)
        self._read_metadata(lock)
        project = await read_toml(tree, self._root)
        entries = await asyncio.to_thread(_entries, packages(lock, self._lock), self._lock)
        own = (*list_requirements(project, self._root), *_list_overruling(project, self._root))
        return Locked(entries=entries, own=own)

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Resolve anew, with nothing moved that need not move.

        A group of requirements says the versions while PDM resolves, and the lock file is then
        written for the manifest without it. What is free is not in the lock file that PDM is given,
        nor is what an override pins: PDM keeps any version of that which is locked.
        """
        for each in _list_overruling(await read_toml(tree, self._root), self._root):
            if each.name in pins and not POETRY.admits(each.spec, pins[each.name]):
                raise Stuck(_OVERRULED.format(own=each))
        manifest, overruled = _with_pins(await read_text(tree, self._root), self._root, pins)
        text = await read_text(tree, self._lock, LOCK_LIMIT)
        lock = await asyncio.to_thread(_without_packages, text, {*free, *overruled})
        await tree.write(posixpath.join(self._directory, _MANIFEST), manifest.encode())
        await tree.write(posixpath.join(self._directory, _LOCK), lock.encode())
        await self._call(tree, _RELOCK, options=self._options)

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the manifest's requirements so that they admit the version."""
        goal = self._find_goal(package, version)
        changes = await require(tree, self._root, package, goal, widen=widen)
        document = parse_toml(await read_text(tree, self._root), self._root)
        editing = Editing(self._root, package, goal, widen=widen)
        editing.table(find_table(document, *_OVERRIDES))
        if editing.changes:
            await tree.write(self._root, tomlkit.dumps(document).encode())
        return [*changes, *editing.changes]

    async def verify_lock(self, tree: WorkTree, before: Locked, after: Locked) -> Accepted:
        """Prove that lock file and manifest agree, and that what moved has its hashes."""
        await self._call(tree, _CHECK)
        proved = await index.prove(tree, before, after, self._seconds)
        return proved.with_commands("pdm lock --check")

    async def _list_named_indexes(self, tree: WorkTree, package: str) -> Collection[str]:
        return list_index_hosts(await read_toml(tree, self._root), package)

    def _read_metadata(self, lock: Table) -> None:
        """Take in which release of PDM to run, and for which groups."""
        metadata = lock.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        form = str(metadata.get("lock_version", ""))
        if form not in _RELEASES:
            raise Unfit("unsupported", _FORM.format(path=self._lock, form=form[:20] or "(none)"))
        targets = tables(metadata.get("targets"))
        if len(targets) > 1 or any(set(each) - {"requires_python"} for each in targets):
            text = _TARGETS.format(path=self._lock, name=index.python_name(self._package))
            raise Unfit("unsupported", text)
        self._release = _RELEASES[form]
        groups = texts(metadata.get("groups"))
        self._groups = tuple(each for each in groups if _GROUP_NAME.fullmatch(each))

    @property
    def _options(self) -> str:
        others = [f"-G {shlex.quote(group)}" for group in self._groups if group != "default"]
        default = () if "default" in self._groups or not self._groups else ("--no-default",)
        return " ".join(("--quiet --update-reuse --skip :all", *default, *others))

    async def _call(self, tree: WorkTree, script: str, **words: str) -> str:
        directory = shlex.quote(self._directory or ".")
        body = (_COPY + script).format(
            directory=directory, manifest=_MANIFEST, lock=_LOCK, pins=_PINS, **words
        )
        tool = Tool("pdm", (self._release,))
        return await call(tree, tool, body, seconds=self._seconds)


def _list_overruling(project: Table, file: str) -> list[Own]:
    """Return what stands in the place of all that asks for a package.

    https://pdm-project.org/en/latest/usage/dependency/#dependency-overrides
    """
    return [
        Own(name=str(canonicalize_name(name)), spec=spec, file=file, overrules=True)
        for name, spec in find_table(project, *_OVERRIDES).items()
        if isinstance(spec, str)
    ]


def _with_pins(text: str, file: str, pins: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the manifest with a group that holds these packages at these versions.

    What is overruled takes no notice of a group, so that the version stands there as well; which
    packages that are comes with it.
    """
    document = parse_toml(text, file)
    overrides = find_table(document, *_OVERRIDES)
    names = {str(canonicalize_name(name)): name for name in overrides}
    overruled = [name for name in names if name in pins]
    for name in overruled:
        overrides[names[name]] = f"=={pins[name]}"
    groups = document.setdefault("dependency-groups", tomlkit.table())
    groups[_PINS] = [f"{name}=={version}" for name, version in pins.items()]
    return tomlkit.dumps(document), overruled


def _without_packages(lock: str, names: Collection[str]) -> str:
    """Return the lock file without the tables of these packages."""
    if not names:
        return lock
    head, *found = re.split(r"(?m)^(?=\[\[package\]\]$)", lock)
    leaving = [re.compile(rf'(?m)^name = "{re.escape(name)}"$') for name in names]
    return head + "".join(each for each in found if not any(gone.search(each) for gone in leaving))


def _entries(found: Sequence[Table], path: str) -> tuple[Entry, ...]:
    keys: dict[str, list[str]] = {}
    for table in found:
        keys.setdefault(read_name_and_version(table, path)[0], []).append(_key(table, path))
    return tuple(_entry(table, keys, path) for table in found)


def _key(table: Table, path: str) -> str:
    """Return the key of one table: a package has one for each set of its extras."""
    name, version = read_name_and_version(table, path)
    extras = ",".join(sorted(texts(table.get("extras"))))
    return f"{name}[{extras}]@{version}" if extras else f"{name}@{version}"


def _entry(table: Table, keys: Mapping[str, list[str]], path: str) -> Entry:
    name, version = read_name_and_version(table, path)
    elsewhere = {each: table[each] for each in ("git", "url", "path", "revision") if each in table}
    files = tables(table.get("files"))
    asked = [parse_requirement(text) for text in texts(table.get("dependencies"))]
    wanted = {index.python_name(each.name): str(each.specifier) for each in asked if each}
    key = _key(table, path)
    return Entry(
        key=key,
        name=name,
        version=version,
        source=json.dumps(elsewhere, sort_keys=True, default=str) if elsewhere else "",
        hosts=tuple(sorted({host(str(each["url"])) for each in files if each.get("url")})),
        hashes=tuple(sorted(str(each["hash"]) for each in files if each.get("hash"))),
        needs=tuple(k for each in wanted for k in keys.get(each, ()) if k != key),
        own=bool(table.get("path")) or bool(table.get("editable")),
        asks=wanted,
    )
