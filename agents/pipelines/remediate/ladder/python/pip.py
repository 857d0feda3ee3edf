"""pip: requirements files, written by hand or by pip-compile and `uv pip compile`."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection, Mapping, Sequence

from agents.pipelines.remediate.ladder.ecosystem import WithoutOverrides
from agents.pipelines.remediate.ladder.locked import Entry, Locked, Own
from agents.pipelines.remediate.ladder.python import index, specs
from agents.pipelines.remediate.ladder.python.pip_compile import (
    compiled_again,
    sort_layers,
    sources,
)
from agents.pipelines.remediate.ladder.python.requirements_files import (
    Read,
    RequirementLine,
    read_requirements,
    replace_requirement,
    respecify,
)
from agents.pipelines.remediate.ladder.ranges import PYPI, Scheme
from agents.pipelines.remediate.ladder.values import Accepted, Group, Immovable, Stuck, Unproved
from agents.ports import WorkTree

_NAMES = re.compile(r"[^/]*\.(txt|in)")
_NO_OVERRIDES = (
    "Requirements files have no entries that overrule what other packages ask for: pip installs "
    "nothing that does not fit together, constraints included."
)
_FAILED = "The requirements cannot be installed together any more: {said}"


def find(paths: frozenset[str], group: Group) -> Pip | None:
    """Return pip for the requirements files that the alerts name."""
    named = [path for path in group.manifests if path in paths]
    if group.ecosystem != "pip" or not named or len(named) != len(group.manifests):
        return None
    if not all(_NAMES.fullmatch(posixpath.basename(path)) for path in named):
        return None
    return Pip(tuple(dict.fromkeys(named)), paths)


class Pip(index.PythonIndex, WithoutOverrides):
    """The port Ecosystem for requirements files."""

    tool = "pip"
    no_overrides = _NO_OVERRIDES
    scheme: Scheme = PYPI

    def __init__(
        self, manifests: tuple[str, ...], paths: frozenset[str], *, seconds: float = 300
    ) -> None:
        self._manifests = manifests
        self._paths = paths
        self._seconds = seconds
        self._read = Read()
        self._original: Read | None = None

    @property
    def locks(self) -> bool:
        """Return whether a tool wrote the file that the alerts are about."""
        return any(path in self._read.compiled for path in self._manifests)

    @property
    def files(self) -> frozenset[str]:
        """Return the requirements files and what they include."""
        return frozenset({*self._manifests, *self._read.texts, *sources(self._read, self._paths)})

    async def read(self, tree: WorkTree) -> Locked:
        """Return the requirements: a pin is its version, a range the lowest version it admits."""
        read = await _read_all_requirements(tree, self._manifests)
        made_from = sources(read, self._paths)
        if made_from:  # what compiled files were made from counts as well
            read = await _read_all_requirements(tree, (*self._manifests, *made_from))
        self._read = read
        self._original = self._original or read
        return _to_locked(read)

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Have compiled files written anew; in others the requirement itself was changed."""
        exact = {name: f"=={version}" for name, version in pins.items()}
        for name, versions in self._list_lines(_to_locked(self._read), pins).items():
            exact[name] = await self._admit_only(tree, name, versions)
        wanted = [*(f"{name}{spec}" for name, spec in exact.items()), *free]
        for path in await sort_layers(tree, self._read):
            await compiled_again(tree, path, self._read, wanted, seconds=self._seconds)

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the requirements so that each admits its goal, with its hashes if need be."""
        goal = self._find_goal(package, version)
        meant = [
            line
            for line in self._read.lines
            if line.name == package and line.file not in self._read.compiled
        ]
        changes: list[str] = []
        hashes: dict[str, tuple[str, ...]] = {}
        texts: dict[str, str] = {}
        for line in sorted(
            meant, key=lambda line: -line.first
        ):  # earlier lines stay where they are
            wanted = goal.choose(line.spec, specs.admits)
            spec = self._move_requirement(line, wanted, widen=widen) if wanted else None
            if spec is None:
                continue
            if line.hashes and wanted not in hashes:
                hashes[wanted] = await index.hashes(tree, package, wanted, self._seconds)
            text = texts.get(line.file, self._read.texts[line.file])
            texts[line.file] = replace_requirement(
                text, line, respecify(line, spec, hashes.get(wanted, ()))
            )
            changes.append(f"`{line.file}` asks for {package} `{spec}`, not `{line.spec}`")
        for file, text in texts.items():
            await tree.write(file, text.encode())
        return changes

    async def verify_lock(self, tree: WorkTree, before: Locked, after: Locked) -> Accepted:
        """Prove that all requirements still install together, and that hashes are right.

        pip never gets the repository's own files: their options could lead it anywhere.
        """
        failed = await self._find_conflict(tree, self._read)
        if failed:
            if not (self._original and await self._find_conflict(tree, self._original)):
                raise Stuck(_FAILED.format(said=failed))
            wanted = shlex.join(part for file in self._manifests for part in ("-r", file))
            command = f"python3 -m pip install --dry-run {wanted}"
            moved = after.list_new(before)
            raise Unproved(self._manifests, self.tool, command, failed, moved)
        proved = await index.prove(tree, before, after, self._seconds)
        proved = proved.model_copy(update={"notes": (*self._read.notes, *proved.notes)})
        return proved.with_commands("pip install --dry-run --only-binary :all:")

    async def _list_named_indexes(self, *_: object) -> Collection[str]:
        return self._read.indexes

    async def _find_conflict(self, tree: WorkTree, read: Read) -> str:
        """Return what pip says against installing all of it together; empty: nothing."""
        lines = [line for line in read.lines if _decides(line, read)]
        wanted, constraints = (
            [_plain(line) for line in lines if line.constrains is kind] for kind in (False, True)
        )
        return await index.find_conflict(tree, wanted, constraints, seconds=self._seconds)

    def _move_requirement(self, line: RequirementLine, version: str, *, widen: bool) -> str | None:
        """Return the new versions of a requirement; None where the old ones are right."""
        spec, locks = line.spec, bool(self._read.compiled)
        if specs.admits(spec, version) and (locks or not specs.floor(spec)):
            return None
        if locks:
            moved = (specs.widen_range if widen else specs.bump_pin)(spec, version)
        else:
            moved = (specs.widen_and_raise if widen else specs.raise_floor)(spec, version)
        if moved is None:
            raise Immovable(line.file, f"{line.name} {spec}", version, widen=widen)
        return None if moved == spec else moved


async def _read_all_requirements(tree: WorkTree, paths: Sequence[str]) -> Read:
    together = Read()
    for path in paths:
        read = await read_requirements(tree, path)
        together.lines += [line for line in read.lines if line.file not in together.texts]
        together.texts |= read.texts
        together.compiled |= read.compiled
        together.indexes |= read.indexes
        together.notes += [note for note in read.notes if note not in together.notes]
    return together


def _to_locked(read: Read) -> Locked:
    """Return the lines that decide as entries, and what people wrote as the own requirements."""
    lines = [line for line in read.lines if _decides(line, read) and specs.floor(line.spec)]
    keys: dict[str, list[str]] = {}
    for line in lines:
        keys.setdefault(line.name, []).append(_key(line))
    needed = [(parent, _key(line)) for line in lines for parent in line.via]
    entries = tuple(
        Entry(
            key=_key(line),
            name=line.name,
            version=specs.floor(line.spec),
            hashes=tuple(sorted(line.hashes)),
            needs=tuple(key for parent, key in needed if parent == line.name),
        )
        for line in lines
    )
    own = tuple(
        Own(name=line.name, spec=line.spec, file=line.file)
        for line in read.lines
        if line.file not in read.compiled
    )
    return Locked(entries=entries, own=own)


def _decides(line: RequirementLine, read: Read) -> bool:
    """Return whether a line says what is installed: where a tool wrote files, only theirs do."""
    return not read.compiled or line.file in read.compiled


def _key(line: RequirementLine) -> str:
    return f"{line.file}:{line.first}"


def _plain(line: RequirementLine) -> str:
    """Return a requirement as pip may have it: no option of the file, no address."""
    hashes = "".join(f" --hash={value}" for value in line.hashes if index.is_hash(value))
    return f"{line.wanted}{hashes}"
