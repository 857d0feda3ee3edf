"""Pipenv: Pipfile.lock with the Pipfile beside it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import tomlkit
from packaging.markers import InvalidMarker, Marker

from agents.pipelines.remediate.ladder.ecosystem import WithoutOverrides
from agents.pipelines.remediate.ladder.files import (
    LOCK_LIMIT,
    MOST_ENTRIES,
    Table,
    host,
    read_name_and_version,
    read_text,
    read_toml,
    tables,
    texts,
)
from agents.pipelines.remediate.ladder.locked import Entry, Locked, Own
from agents.pipelines.remediate.ladder.python import index
from agents.pipelines.remediate.ladder.python.provided_tools import BASE, Tool, attempt, call
from agents.pipelines.remediate.ladder.python.pyproject import Editing, parse_toml
from agents.pipelines.remediate.ladder.ranges import PYPI, Scheme
from agents.pipelines.remediate.ladder.values import (
    Accepted,
    Group,
    Stuck,
    Unfit,
    describe_failure,
)
from agents.ports import WorkTree

MOST_NAMED = 5
TOOL = Tool("pipenv", ("pipenv>=2026", "plette>=2.4,<3"))
"""plette computes the hash of a Pipfile as older Pipenvs do; newer ones write the
names of packages their canonical way first."""

_SECTIONS = {"packages": "default", "dev-packages": "develop"}
"""Pipfile.lock's names of those groups; any other has one name in both files."""
_NO_GROUPS = frozenset({"source", "requires", "scripts", "pipfile", "pipenv"})
_SETTINGS = ("source", "requires", "pipenv")
_ELSEWHERE = ("git", "hg", "svn", "bzr", "file", "path", "ref", "subdirectory")

_SCRATCH, _LOCKED = ".fettle-Pipfile", ".fettle-locked.txt"
_COPY = """\
tree=$PWD
work=$(mktemp -d)
trap 'cd / && rm -rf -- "$work"' EXIT
export PIPENV_NOSPIN=1 PIPENV_VENV_IN_PROJECT=1 PIPENV_IGNORE_VIRTUALENVS=1 PIPENV_YES=1
export PIP_SRC="$work/src"
cd -- {directory} || exit 98
"""
_LOCK = """\
mv -f -- {scratch} "$work/Pipfile" && cd "$work" || exit 98
{python}
pipenv lock >said 2>&1 || { tail -c 3000 said; exit 1; }
cp -- Pipfile.lock "$tree"/{directory}/Pipfile.lock
"""
_AS_IT_IS = """\
test ! -e "$tool/ready" || { unset PIPENV_IGNORE_VIRTUALENVS; export VIRTUAL_ENV="$tool"; }"""
"""Where no Python is asked for, Pipenv locks for its own, and needs no new environment of it. That
is read-only in the sandbox: so sources (`PIP_SRC`), whose folder it makes anyway, lie apart."""

_HASH = """\
mv -f -- {scratch} "$work/Pipfile" && cd "$work" || exit 98
python -c 'import plette; print(plette.Pipfile.load(open("Pipfile")).get_hash().value)'
"""
_CHECK = """\
cp -- Pipfile Pipfile.lock "$work" && cd "$work" || exit 98
pipenv verify
"""
_WHOLE = """\
folder=$(mktemp -d) && mv -- {file} "$folder/locked.txt" && cd -- "$folder" || exit 98
uv pip compile locked.txt --no-build --no-header --no-annotate --quiet --color never {python}
"""
"""`pipenv sync` installs what is locked without looking at what that needs, so this does."""
_RESOLVED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==", re.MULTILINE)
_MISSING = "`{path}` lacks what is needed by what it locks: {names}."
_UNTOLD = "That `{path}` lacks nothing of what it needs could not be told: {said}"
_NO_JSON = "`{path}` is no lock file of Pipenv that can be read: {why}"


def find(paths: frozenset[str], group: Group) -> Pipenv | None:
    """Return Pipenv for the lock file in the group's folder."""
    directory = group.directory.strip("/")
    names = {posixpath.basename(manifest) for manifest in group.manifests}
    known = names <= {"Pipfile", "Pipfile.lock"} and group.ecosystem == "pip"
    there = {posixpath.join(directory, name) for name in ("Pipfile", "Pipfile.lock")}
    return Pipenv(directory) if known and there <= paths else None


class Pipenv(index.PythonIndex, WithoutOverrides):
    """The port Ecosystem for one `Pipfile.lock`."""

    tool = "Pipenv"
    no_overrides = (
        "Pipenv has no entries that overrule what other packages ask for: it locks what a Pipfile"
        " and all of them admit, or nothing."
    )
    locks = True
    scheme: Scheme = PYPI

    def __init__(self, directory: str, *, seconds: float = 300) -> None:
        self._directory = directory
        self._seconds = seconds
        self._lock = posixpath.join(directory, "Pipfile.lock")
        self._manifest = posixpath.join(directory, "Pipfile")
        self._first: tuple[Table, str] | None = None
        """The manifest as it was, and the hash of it that the lock file had."""

    @property
    def files(self) -> frozenset[str]:
        """Return the lock file and the manifest."""
        return frozenset({self._lock, self._manifest})

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now; the file does not say which package needs which."""
        lock = await self._read_lock(tree)
        entries = await asyncio.to_thread(_entries, lock, self._lock)
        manifest = await read_toml(tree, self._manifest)
        if self._first is None:
            self._first = manifest, _hash_in(lock)
        own = tuple(_list_own(manifest, self._manifest))
        return Locked(entries=entries, own=own, tells_needs=False)

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Resolve anew, with nothing moved that need not move.

        Pipenv resolves everything at once and keeps nothing. So it is given a Pipfile that names
        all that is locked, at its version; where that has no solution, only what the repository
        names itself keeps its version. Of the result, only what moved is taken over.
        """
        lock = await self._read_lock(tree)
        manifest = await read_toml(tree, self._manifest)
        try:
            new = await self._resolve(tree, _hold(manifest, lock, pins, free, all_of_it=True))
        except Stuck:
            new = await self._resolve(tree, _hold(manifest, lock, pins, free, all_of_it=False))
        moved = _take_moved(lock, new)
        moved["_meta"]["hash"] = {"sha256": await self._hash_alike(tree, manifest)}
        text = json.dumps(moved, indent=4, separators=(",", ": "), sort_keys=True)
        await tree.write(self._lock, f"{text}\n".encode())

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the manifest's requirements so that they admit the version."""
        text = await read_text(tree, self._manifest)
        goal = self._find_goal(package, version)
        editing = Editing(self._manifest, package, goal, widen=widen)
        changed = await asyncio.to_thread(_rewrite, text, editing)
        if editing.changes:
            await tree.write(self._manifest, changed.encode())
        return editing.changes

    async def verify_lock(self, tree: WorkTree, before: Locked, after: Locked) -> Accepted:
        """Prove that lock file and manifest agree, and that what moved has its hashes."""
        verified = await self._verify_hash(tree)
        untold = await self._require_whole(tree)
        proved = await index.prove(tree, before, after, self._seconds)
        proved = proved.model_copy(update={"notes": (*untold, *proved.notes)})
        return proved.with_commands(*verified, *(() if untold else ("uv pip compile",)))

    async def _verify_hash(self, tree: WorkTree) -> tuple[str, ...]:
        """Raise Stuck where the lock file is not of this manifest; return what Pipenv was asked."""
        manifest, lock = await read_toml(tree, self._manifest), await self._read_lock(tree)
        if await self._is_hashed_as_written(tree):
            if _hash_in(lock) != await self._hash(tree, manifest):
                raise Stuck(f"`{self._lock}` is not of `{self._manifest}` as it is.")
            return ()
        await self._call(tree, _CHECK)
        return ("pipenv verify",)

    async def _hash_alike(self, tree: WorkTree, manifest: Table) -> str:
        """Return the hash of a manifest as the Pipenv that wrote the lock file computes it."""
        written = await self._is_hashed_as_written(tree)
        return await self._hash(tree, manifest if written else _with_canonical_names(manifest))

    async def _is_hashed_as_written(self, tree: WorkTree) -> bool:
        """Return whether the names count as people wrote them, and are not canonical."""
        manifest, found = self._first or ({}, "")
        same = manifest == _with_canonical_names(manifest)
        return not same and await self._hash(tree, manifest) == found

    async def _hash(self, tree: WorkTree, manifest: Table) -> str:
        path = posixpath.join(self._directory, _SCRATCH)
        await tree.write(path, tomlkit.dumps(manifest).encode())
        return (await self._call(tree, _HASH)).split()[-1]

    async def _require_whole(self, tree: WorkTree) -> Sequence[str]:
        """Raise Stuck where something is needed that is not locked; return what is not told."""
        lock = await self._read_lock(tree)
        locked = {name for _, found in _list_sections(lock) for name in found}
        wanted = list(_list_requirements(lock))
        if not wanted:
            return ()
        await tree.write(_LOCKED, "".join(f"{line}\n" for line in wanted).encode())
        script = _WHOLE.format(file=_LOCKED, python=_name_python(lock))
        result = await attempt(tree, BASE, script, seconds=self._seconds)
        if failed := describe_failure("uv", result):
            return (_UNTOLD.format(path=self._lock, said=failed),)
        needed = {index.python_name(name) for name in _RESOLVED.findall(result.output)}
        if missing := sorted(needed - set(map(index.python_name, locked))):
            raise Stuck(_MISSING.format(path=self._lock, names=", ".join(missing[:MOST_NAMED])))
        return ()

    async def _list_named_indexes(self, tree: WorkTree, package: str) -> Collection[str]:
        """Return where Pipenv takes the package from: the index of its entry, else the first."""
        lock, manifest = await self._read_lock(tree), await read_toml(tree, self._manifest)
        sources = tables(manifest.get("source"))
        found = [t.get("index") for _, s in _list_sections(lock) for n, t in s.items()
                 if index.python_name(n) == package]  # fmt: skip
        named = [each for each in sources if each.get("name") in filter(None, found)]
        return {host(str(each.get("url", ""))) for each in named or sources[:1]} - {""}

    async def _read_lock(self, tree: WorkTree) -> Table:
        text = await read_text(tree, self._lock, LOCK_LIMIT)
        return await asyncio.to_thread(_parse_lock, text, self._lock)

    async def _resolve(self, tree: WorkTree, manifest: Table) -> Table:
        path = posixpath.join(self._directory, _SCRATCH)
        await tree.write(path, tomlkit.dumps(manifest).encode())
        python = "" if manifest.get("requires") else _AS_IT_IS
        await self._call(tree, _LOCK.replace("{python}", python))
        return await self._read_lock(tree)

    async def _call(self, tree: WorkTree, script: str) -> str:
        script = (_COPY + script).replace("{scratch}", _SCRATCH)
        body = script.replace("{directory}", shlex.quote(self._directory or "."))
        return await call(tree, TOOL, body, seconds=self._seconds)


def _hash_in(lock: Table) -> str:
    found = lock["_meta"].get("hash")
    return str(found.get("sha256")) if isinstance(found, dict) else ""


def _with_canonical_names(manifest: Table) -> Table:
    groups = {id(table) for _, table in _list_groups(manifest)}
    return {
        name: {index.python_name(each): value for each, value in table.items()}
        if id(table) in groups
        else table
        for name, table in manifest.items()
    }


def _parse_lock(text: str, path: str) -> Table:
    try:
        lock = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unfit("unsafe", _NO_JSON.format(path=path, why=error)) from error
    if not isinstance(lock, dict) or not isinstance(lock.get("_meta"), dict):
        raise Unfit("unsafe", _NO_JSON.format(path=path, why="it has no `_meta`."))
    if sum(len(found) for _, found in _list_sections(lock)) > MOST_ENTRIES:
        raise Unfit("unsafe", _NO_JSON.format(path=path, why=f"over {MOST_ENTRIES} packages."))
    return lock


def _list_sections(lock: Table) -> Iterator[tuple[str, Mapping[str, Table]]]:
    """Yield the groups of a lock file with their packages."""
    for section, found in lock.items():
        if section != "_meta" and isinstance(found, dict):
            yield section, {name: each for name, each in found.items() if isinstance(each, dict)}


def _list_groups(manifest: Any) -> Iterator[tuple[str, Any]]:
    """Yield the groups of a Pipfile, by their names in the lock file."""
    for name, table in manifest.items():
        if name not in _NO_GROUPS and isinstance(table, dict):
            yield _SECTIONS.get(name, name), table


def _entries(lock: Table, path: str) -> tuple[Entry, ...]:
    return tuple(
        _entry(section, name, table, path)
        for section, found in _list_sections(lock)
        for name, table in found.items()
    )


def _entry(section: str, name: str, table: Table, path: str) -> Entry:
    version = str(table.get("version", "")).removeprefix("==")
    name, version = read_name_and_version({"name": name, "version": version}, path)
    elsewhere = {key: table[key] for key in _ELSEWHERE if key in table}
    return Entry(
        key=f"{section}/{name}",
        name=name,
        version=version,
        source=json.dumps(elsewhere, sort_keys=True, default=str) if elsewhere else "",
        hashes=tuple(sorted(texts(table.get("hashes")))),
        own="path" in table,
    )


def _list_requirements(lock: Table) -> Iterator[str]:
    """Yield each locked package of the index once, as a requirement of just that version."""
    seen = set()
    for _, found in _list_sections(lock):
        for name, table in found.items():
            clean, version = index.python_name(name), str(table.get("version", ""))
            if clean in seen or not version.startswith("==") or any(k in table for k in _ELSEWHERE):
                continue
            seen.add(clean)
            about = _conditions(table)
            extras = f"[{','.join(about['extras'])}]" if "extras" in about else ""
            marker = f"; {about['markers']}" if "markers" in about else ""
            yield f"{clean}{extras}{version}{marker}"


def _name_python(lock: Table) -> str:
    """Return uv's option for the Python that is locked for, where one is named."""
    requires = lock["_meta"].get("requires")
    wanted = str(requires.get("python_version", "")) if isinstance(requires, dict) else ""
    return f"--python-version {wanted}" if re.fullmatch(r"3\.\d{1,2}", wanted) else ""


def _list_own(manifest: Table, file: str) -> Iterator[Own]:
    for _, table in _list_groups(manifest):
        for name, value in table.items():
            spec = value.get("version") if isinstance(value, dict) else value
            if isinstance(spec, str):
                plain = "" if spec.strip() == "*" else spec
                yield Own(name=index.python_name(name), spec=plain, file=file)


def _hold(
    manifest: Table, lock: Table, pins: Mapping[str, str], free: Sequence[str], *, all_of_it: bool
) -> Table:
    """Return a Pipfile of what is locked, with the pins at theirs and the free ones at any version.

    What comes from elsewhere than an index stays out: Pipenv would build it.
    """
    held: Table = {key: manifest[key] for key in _SETTINGS if key in manifest}
    wanted = dict(_list_groups(manifest))
    for section, found in _list_sections(lock):
        own = {index.python_name(name): value for name, value in wanted.get(section, {}).items()}
        group = {}
        for name, table in found.items():
            clean = index.python_name(name)
            if any(key in table for key in _ELSEWHERE) or not isinstance(table.get("version"), str):
                continue
            if clean not in pins and clean not in own and not all_of_it:
                continue
            spec = _combine(own.get(clean), pins.get(clean), table["version"], clean in free)
            group[clean] = {"version": spec, **_conditions(table)}
        names = {there: here for here, there in _SECTIONS.items()}
        held[names.get(section, section)] = group
    return held


def _conditions(table: Table) -> Table:
    """Return for which environments and with which extras a package is locked."""
    found: Table = {"extras": [each for each in texts(table.get("extras")) if each.isidentifier()]}
    with contextlib.suppress(InvalidMarker):
        found["markers"] = str(Marker(str(table.get("markers", ""))))
    return {key: value for key, value in found.items() if value}


def _combine(own: Any, pin: str | None, locked: str, free: bool) -> str:
    """Return which versions of a package may come: nothing that the Pipfile itself does not admit.

    A pin and what the Pipfile asks for may exclude each other: then there is no solution.
    """
    asked = own.get("version") if isinstance(own, dict) else own
    asked = asked if isinstance(asked, str) and asked.strip() != "*" else ""
    if pin is not None:
        return f"{asked},=={pin}".strip(",")
    return (asked or "*") if free else locked


def _take_moved(lock: Table, new: Table) -> Table:
    """Return the old lock file with what has another version in the new one, or is only there."""
    merged = {key: dict(value) if isinstance(value, dict) else value for key, value in lock.items()}
    for section, found in _list_sections(new):
        there = merged.setdefault(section, {})
        for name, table in found.items():
            old = there.get(name)
            old = old if isinstance(old, dict) else {}
            if old.get("version") != table.get("version"):
                plain = {key: value for key, value in table.items() if key != "index"}
                there[name] = plain | ({"index": old["index"]} if "index" in old else {})
    return merged


def _rewrite(text: str, editing: Editing) -> str:
    document = parse_toml(text, editing.file)
    for _, table in _list_groups(document):
        editing.table(table)
    return tomlkit.dumps(document)
