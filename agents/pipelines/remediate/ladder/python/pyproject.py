"""Read the requirements of a pyproject.toml, and change one in place."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, MutableMapping, MutableSequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import String

from agents.pipelines.remediate.ladder.files import Table, host, read_text, tables, texts
from agents.pipelines.remediate.ladder.locked import Own
from agents.pipelines.remediate.ladder.python import specs
from agents.pipelines.remediate.ladder.values import Immovable, Unfit
from agents.ports import WorkTree

_PARTS = re.compile(
    r"^(\s*[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\])?\s*\(?)([^;@()]*)(\)?\s*(?:;.*)?)$"
)


@dataclass(frozen=True)
class Dialect:
    """How one tool reads a requirement's text."""

    takes: specs.Admits
    """Whether a requirement takes a version at all."""
    admits: specs.Admits
    """Whether it is right for a version as it is."""
    bumped: specs.SpecChange
    widened: specs.SpecChange


PEP440 = Dialect(specs.admits, specs.admits, specs.bump_pin, specs.widen_range)
UNLOCKED = Dialect(specs.admits, specs.begins_at, specs.raise_floor, specs.widen_and_raise)
"""PEP 440 where no lock file decides, so that the lowest version that is admitted counts."""
POETRY = Dialect(
    specs.poetry_admits, specs.poetry_admits, specs.poetry_bumped, specs.poetry_widened
)


def name_of(project: Table) -> str:
    """Return the project's own name, as all files are compared by."""
    return str(canonicalize_name(str(find_table(project, "project").get("name", ""))))


def is_of_poetry(project: Table) -> bool:
    """Return whether requirements stand in Poetry's tables."""
    return any(_poetry_tables(project))


def list_elsewhere(project: Table) -> frozenset[str]:
    """Return the packages that uv takes from elsewhere than an index."""
    return frozenset(map(str, map(canonicalize_name, find_table(project, "tool", "uv", "sources"))))


def list_index_hosts(project: Table, package: str = "") -> set[str]:
    """Return the hosts of uv's and PDM's indexes; of a package those that it is taken from.

    One that is asked before the usual one is of those, since it may have anything; one that other
    packages alone are taken from is not. https://docs.astral.sh/uv/concepts/indexes/
    """
    listed = tables(find_table(project, "tool", "uv").get("index"))
    if package:
        sources = find_table(project, "tool", "uv", "sources")
        own = [each for name, each in sources.items() if canonicalize_name(name) == package]
        meant = {str(each.get("index")) for value in own for each in _tables_of(value)}
        listed = [
            each
            for each in listed
            if (each.get("name") in meant if meant else each.get("explicit") is not True)
        ]
    listed += _list_pdm_sources(project, package)
    return {host(str(each["url"])) for each in listed if each.get("url")} - {""}


def _list_pdm_sources(project: Table, package: str) -> list[Table]:
    """Return PDM's sources; of a package those that are for it alone, else the one in PyPI's place.

    https://pdm-project.org/en/latest/usage/config/#specify-index-for-individual-packages
    """
    listed = tables(find_table(project, "tool", "pdm").get("source"))
    meant = [
        each
        for each in listed
        if any(fnmatchcase(package, name) for name in texts(each.get("include_packages")))
    ]
    usual = [each for each in listed if not package or each.get("name") == "pypi"]
    return meant or usual


def _tables_of(value: Any) -> list[Table]:
    return tables(value if isinstance(value, list) else [value])


def list_wanted(project: Table) -> list[Requirement]:
    """Return every requirement, as PEP 508 writes them, that leads to an index."""
    found = []
    for text in (text for listed in _lists(project) for text in texts(listed)):
        wanted = parse_requirement(text)
        if wanted is not None:
            found.append(wanted)
    return found


def parse_requirement(text: str) -> Requirement | None:
    """Return a requirement that leads to an index; None for anything else."""
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return None
    return wanted if wanted.url is None else None


def as_own(wanted: Requirement, file: str) -> Own:
    """Return a requirement as one that the repository states itself."""
    name, spec = str(canonicalize_name(wanted.name)), str(wanted.specifier)
    return Own(name=name, spec=spec, file=file)


def list_requirements(project: Table, file: str) -> list[Own]:
    """Return every requirement of a pyproject.toml that leads to an index."""
    found = [as_own(wanted, file) for wanted in list_wanted(project)]
    for table in _poetry_tables(project):
        for name, value in table.items():
            if name != "python":
                clean = str(canonicalize_name(name))
                found += [Own(name=clean, spec=spec, file=file) for spec in _poetry_specs(value)]
    return found


async def require(
    tree: WorkTree, file: str, package: str, goal: specs.Goal, *, widen: bool, locked: bool = True
) -> list[str]:
    """Change the file's requirements on a package so that each admits its goal.

    Where it is not `locked`, they admit nothing older either. Returns the changes for people.
    Raises Stuck where a requirement cannot be changed so.
    """
    text = await read_text(tree, file)
    editing = Editing(file, package, goal, widen=widen, locked=locked)
    changed = await asyncio.to_thread(_rewrite_project, text, editing)
    if editing.changes:
        await tree.write(file, changed.encode())
    return editing.changes


def parse_toml(text: str, file: str) -> tomlkit.TOMLDocument:
    """Return a file as a document that keeps its looks. Raises Unfit."""
    try:
        return tomlkit.parse(text)
    except (TOMLKitError, RecursionError, ValueError) as error:
        raise Unfit("unsafe", f"`{file}` is not TOML that can be read: {error}") from error


def _rewrite_project(text: str, editing: Editing) -> str:
    document = parse_toml(text, editing.file)
    for listed in _lists(document):
        editing.rewrite_list(listed)
    for table in _poetry_tables(document):
        editing.table(table)
    return tomlkit.dumps(document)


class Editing:
    """Changes requirements of one package in place, and notes each change."""

    def __init__(
        self, file: str, package: str, goal: specs.Goal, *, widen: bool, locked: bool = True
    ) -> None:
        self.file = file
        self.changes: list[str] = []
        self._package = package
        self._goal = goal
        self._widen = widen
        self._pep440 = PEP440 if locked else UNLOCKED

    def rewrite_list(self, listed: Any) -> None:
        """Change the texts of a list, as PEP 508 writes them."""
        for at, text in enumerate(listed if isinstance(listed, MutableSequence) else ()):
            found = _PARTS.match(text) if isinstance(text, str) else None
            if found and self._is_target(re.split(r"[\s\[(]", found[1].strip())[0]):
                spec = self._move_spec(found[2], self._pep440)
                if spec is not None:
                    listed[at] = _quote_alike(text, f"{found[1]}{spec}{found[3]}")

    def table(self, table: MutableMapping[str, Any]) -> None:
        """Change the values of a table, as Poetry writes them."""
        for name, value in table.items():
            if not self._is_target(name):
                continue
            if isinstance(value, str):
                spec = self._move_spec(value, POETRY)
                if spec is not None:
                    table[name] = _quote_alike(value, spec)
            for each in [value, *tables(value)]:
                if isinstance(each, MutableMapping) and isinstance(each.get("version"), str):
                    spec = self._move_spec(each["version"], POETRY)
                    if spec is not None:
                        each["version"] = _quote_alike(each["version"], spec)

    def _is_target(self, name: str) -> bool:
        return str(canonicalize_name(name)) == self._package

    def _move_spec(self, spec: str, dialect: Dialect) -> str | None:
        """Return the new text; None where the old one is right. Raises Stuck."""
        version = self._goal.choose(spec, dialect.takes)
        if not version or dialect.admits(spec, version):
            return None
        change = dialect.widened if self._widen else dialect.bumped
        moved = change(spec, version)
        if moved is None or not dialect.admits(moved, version):
            asked = f"{self._package} {spec}"
            raise Immovable(self.file, asked, version, widen=self._widen)
        line = f"`{self.file}` asks for {self._package} `{moved.strip()}`, not `{spec.strip()}`"
        self.changes.append(line)
        return moved


def _quote_alike(old: str, new: str) -> String:
    """Return a text as TOML writes it: between single quotes where the old one is."""
    single = isinstance(old, String) and old.as_string().startswith("'")
    return tomlkit.string(new, literal=single and not re.search(r"['\x00-\x1f\x7f]", new))


def _lists(project: Any) -> Iterator[Any]:
    """Yield the lists of requirements as PEP 508 writes them."""
    yield find_table(project, "project").get("dependencies")
    yield from find_table(project, "project", "optional-dependencies").values()
    yield from find_table(project, "dependency-groups").values()
    yield find_table(project, "tool", "uv").get("dev-dependencies")
    yield find_table(project, "tool", "uv").get("constraint-dependencies")
    yield find_table(project, "tool", "uv").get("override-dependencies")
    yield from find_table(project, "tool", "pdm", "dev-dependencies").values()


def _poetry_tables(project: Any) -> Iterator[MutableMapping[str, Any]]:
    """Yield Poetry's tables of requirements."""
    yield find_table(project, "tool", "poetry", "dependencies")
    yield find_table(project, "tool", "poetry", "dev-dependencies")
    for name in find_table(project, "tool", "poetry", "group"):
        yield find_table(project, "tool", "poetry", "group", name, "dependencies")


def _poetry_specs(value: Any) -> Iterator[str]:
    for each in [value, *tables(value)]:
        spec = each.get("version") if isinstance(each, MutableMapping) else each
        if isinstance(spec, str):
            yield spec


def find_table(document: Any, *names: str) -> MutableMapping[str, Any]:
    """Return the table that these names lead to, or an empty one: files may hold anything."""
    for name in names:
        document = document.get(name) if isinstance(document, MutableMapping) else None
    return document if isinstance(document, MutableMapping) else {}
