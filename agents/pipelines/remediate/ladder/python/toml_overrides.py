"""Add and remove entries of a pyproject.toml that overrule other packages, each with its reason."""

from __future__ import annotations

import asyncio
import copy
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from tomlkit.items import Array, InlineTable

from agents.pipelines.remediate.ladder.files import Table, read_text
from agents.pipelines.remediate.ladder.python.pyproject import parse_toml
from agents.pipelines.remediate.ladder.values import Stuck, Target, Unfit
from agents.ports import WorkTree

_DOUBLE = "`{file}` overrides {text} already."
_SHAPE = (
    "`{file}` has `{place}` in a form that no entry with its reason can be added to. Write it as "
    "{form}."
)
_CHANGED = (
    "The override of {name} in `{file}` is not as Fettle wrote it: somebody has changed it, so it "
    "is theirs, and Fettle leaves it alone."
)
_LONG = 50_000  # characters, whose looks would take too long to compare
_CLOSING = re.compile(r",?\s*\]")
_CLOSINGS = ("]", ",\n]", "\n]", ",\r\n]", "\r\n]", ",]")


class TomlOverrides(ABC):
    """The entries at one place of a pyproject.toml that overrule what packages ask for."""

    _form: str
    """How the place has to be written, for people."""
    _tables: tuple[str, ...]
    """The tables that hold the entries."""

    def __init__(self, *place: str) -> None:
        self._place = place

    def add(self, text: str, file: str, releases: Mapping[str, str], reason: str) -> str:
        """Return the text with an entry for each package, the reason beside it. Raises Stuck."""
        before = _plain(text, file)
        for name, there in self._list_entries(before):
            if name in releases:
                raise Stuck(_DOUBLE.format(file=file, text=there))
        document = parse_toml(text, file)
        holder: Any = document
        for at, name in enumerate(self._tables, 1):
            above = at < len(self._tables)
            holder = holder.setdefault(name, tomlkit.table(is_super_table=above))
            if not isinstance(holder, MutableMapping):
                break
        if self._insert(holder, releases, reason):
            changed = tomlkit.dumps(document)
            if not text.endswith("\n"):  # so that it can be told from one that did
                changed = changed.removesuffix("\n")
            if self._says(changed, before, with_those=releases):
                return changed
        raise Stuck(_SHAPE.format(file=file, place=".".join(self._place), form=self._form))

    def is_there(self, text: str, file: str, releases: Mapping[str, str], reason: str) -> bool:
        """Return whether those entries are there; False where none is about the packages.

        Raises Stuck for anything else: people have changed them.
        """
        there = _plain(text, file)
        if not any(name in releases for name, _ in self._list_entries(there)):
            return False
        if not self._holds(there, releases) or self._cut(text, releases, reason) is None:
            raise Stuck(_CHANGED.format(name=min(releases), file=file))
        return True

    def remove(self, text: str, file: str, releases: Mapping[str, str], reason: str) -> str:
        """Return the text as it was before those entries were added, which are known to be there.

        Several texts may be it; one that becomes this one when they are added is preferred.
        """
        there = _plain(text, file)
        emptied = all(name in releases for name, _ in self._list_entries(there))
        cut = self._cut(text, releases, reason)
        assert cut is not None, "they are there"
        wanted = self._drop_entries(there, releases)
        tries = [t for t in self._list_tries(*cut, emptied=emptied) if self._says(t, wanted)]
        if not tries:
            raise Stuck(_CHANGED.format(name=min(releases), file=file))
        if len(text) > _LONG:
            return tries[0]
        return next((t for t in tries if self._gives(t, file, releases, reason, text)), tries[0])

    @abstractmethod
    def _list_entries(self, document: Table) -> list[tuple[str, str]]:
        """Return the entries: the package's name, and the requirement as it is written."""

    @abstractmethod
    def _insert(self, holder: Any, releases: Mapping[str, str], reason: str) -> bool:
        """Add entries to the last of the tables; False where its form does not allow it."""

    @abstractmethod
    def _match_entry(self, name: str, version: str) -> str:
        """Return the pattern of what stands on the line of an entry before its reason."""

    @abstractmethod
    def _list_left(self, found: Any, names: Mapping[str, str]) -> Any:
        """Return what is found at the place without the entries of these packages."""

    @abstractmethod
    def _list_tries(self, rest: str, at: int, *, emptied: bool) -> Iterator[str]:
        """Yield what may have stood there before; what takes the most away comes first.

        `at`: where our lines were. Only what is around that place is looked at: a file may hold
        thousands of others.
        """

    def _holds(self, document: Table, releases: Mapping[str, str]) -> bool:
        """Return whether it has just these entries of the packages, as they are written."""
        found = [said for name, said in self._list_entries(document) if name in releases]
        return found == [f"{name}>={version}" for name, version in releases.items()]

    def _drop_entries(self, document: Table, names: Mapping[str, str]) -> Table:
        left = copy.deepcopy(document)
        found = self._find(left)
        if found:
            holder = left
            for name in self._place[:-1]:
                holder = holder[name]
            holder[self._place[-1]] = self._list_left(found, names)
        return left

    def _find(self, document: Table) -> Any:
        found: Any = document
        for name in self._place:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def _cut(self, text: str, releases: Mapping[str, str], reason: str) -> tuple[str, int] | None:
        """Return the text without our lines, and where they were.

        None unless all are as they were written.
        """
        at = 0
        for name, version in releases.items():
            entry = self._match_entry(re.escape(name), re.escape(f">={version}"))
            line = rf"^[ \t]*{entry}[ \t]*#[ \t]*{re.escape(reason)}[ \t]*(?:\r?\n|\Z)"
            found = list(re.finditer(line, text, re.MULTILINE))
            if len(found) != 1:
                return None
            at = found[0].start()
            text = f"{text[:at]}{text[found[0].end() :]}"
        return text, at

    def _says(self, text: str, wanted: Table, with_those: Mapping[str, str] | None = None) -> bool:
        """Return whether a text says this, but for lists and tables of ours that are empty.

        `with_those`: entries that it has to have besides.
        """
        try:
            said = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            return False
        if with_those and not self._holds(said, with_those):
            return False
        said = self._drop_entries(said, with_those or {})
        return self._drop_empty(said) == self._drop_empty(wanted)

    def _drop_empty(self, document: Table) -> Table:
        lean = copy.deepcopy(document)
        holders: list[Any] = [lean]
        for name in self._place:
            found = holders[-1].get(name) if isinstance(holders[-1], dict) else None
            if found is None:
                break
            holders.append(found)
        for name, holder, held in reversed(
            list(zip(self._place, holders, holders[1:], strict=False))
        ):
            if held in ({}, []):
                del holder[name]
        return lean

    def _gives(
        self, text: str, file: str, releases: Mapping[str, str], reason: str, wanted: str
    ) -> bool:
        try:
            return self.add(text, file, releases, reason) == wanted
        except (Stuck, Unfit):
            return False

    def _without_header(self, text: str, at: int) -> Iterator[str]:
        """Yield the text without the header of the last of the tables before a place."""
        names = r"[ \t]*\.[ \t]*".join(map(re.escape, self._tables))
        pattern = re.compile(rf"^[ \t]*\[[ \t]*{names}[ \t]*\][ \t]*\r?\n", re.MULTILINE)
        for header in [*pattern.finditer(text, 0, at)][-1:]:
            before, after = text[: header.start()], text[header.end() :]
            if after:
                yield before + after
            yield before.removesuffix("\n") + after
            yield before + after.removeprefix("\n")
            yield before.removesuffix("\n\n") + after


class ListedOverrides(TomlOverrides):
    """Entries that are requirements in a list, as uv has them."""

    _form = "a list of texts"

    def __init__(self, *place: str) -> None:
        super().__init__(*place)
        self._tables = place[:-1]
        name = place[-1]
        self._empty = re.compile(
            rf"^[^\n#\"']*\b{name}[ \t]*=[ \t]*\[\s*\][^\n]*(?:\n|\Z)", re.MULTILINE
        )
        self._inline = re.compile(rf",?[ \t]{{0,20}}{name}[ \t]*=[ \t]*\[\s*\]")

    def _list_entries(self, document: Table) -> list[tuple[str, str]]:
        found = self._find(document)
        return [(_name(e), str(e)) for e in found] if isinstance(found, list) else []

    def _insert(self, holder: Any, releases: Mapping[str, str], reason: str) -> bool:
        if not isinstance(holder, MutableMapping):
            return False
        listed = holder.setdefault(self._place[-1], tomlkit.array())
        if not isinstance(listed, Array):
            return False
        for name, version in releases.items():
            listed.add_line(f"{name}>={version}", comment=reason)
        listed.add_line(indent="")
        return True

    def _match_entry(self, name: str, version: str) -> str:
        return rf"[\"']{name}{version}[\"'][ \t]*,?"

    def _list_left(self, found: Any, names: Mapping[str, str]) -> Any:
        return [each for each in found if _name(each) not in names]

    def _list_tries(self, rest: str, at: int, *, emptied: bool) -> Iterator[str]:
        for match in _find_matches_around(self._empty, rest, at) if emptied else ():
            bare = f"{rest[: match.start()]}{rest[match.end() :]}"
            yield from self._without_header(bare, match.start())
            yield bare
        for match in _find_matches_around(self._inline, rest, at) if emptied else ():
            yield f"{rest[: match.start()]}{rest[match.end() :]}"
        start = len(rest[:at].rstrip().removesuffix(","))
        if (last := _CLOSING.match(rest, start)) is not None:  # ours were the last ones
            before, after = rest[: last.start()], rest[last.end() :]
            yield from (f"{before}{closing}{after}" for closing in _CLOSINGS)
        yield rest


class KeyedOverrides(TomlOverrides):
    """Entries that are members of a table, as PDM has them."""

    _form = "a table of its own, with one line for each package"

    def __init__(self, *place: str) -> None:
        super().__init__(*place)
        self._tables = place

    def _list_entries(self, document: Table) -> list[tuple[str, str]]:
        found = self._find(document)
        members = found.items() if isinstance(found, dict) else ()
        return [(str(canonicalize_name(name)), f"{name}{value}") for name, value in members]

    def _insert(self, holder: Any, releases: Mapping[str, str], reason: str) -> bool:
        if not isinstance(holder, MutableMapping) or isinstance(holder, InlineTable):
            return False
        for name, version in releases.items():
            holder[name] = tomlkit.string(f">={version}").comment(reason)
        return True

    def _match_entry(self, name: str, version: str) -> str:
        return rf"[\"']?{name}[\"']?[ \t]*=[ \t]*[\"']{version}[\"']"

    def _list_left(self, found: Any, names: Mapping[str, str]) -> Any:
        return {name: each for name, each in found.items() if canonicalize_name(name) not in names}

    def _list_tries(self, rest: str, at: int, *, emptied: bool) -> Iterator[str]:
        if emptied:
            yield from self._without_header(rest, at)
        yield rest
        yield rest.removesuffix("\n")


class PyprojectOverrides:
    """The part of an Ecosystem that keeps its overrides in the pyproject.toml of the root."""

    overrides: TomlOverrides
    _root: str

    async def override(self, tree: WorkTree, targets: Sequence[Target], reason: str, /) -> None:
        """Add an entry, with the reason beside it."""
        text, releases = await read_text(tree, self._root), _releases_of(targets)
        changed = await asyncio.to_thread(self.overrides.add, text, self._root, releases, reason)
        await tree.write(self._root, changed.encode())

    async def has_override(self, tree: WorkTree, targets: Sequence[Target], reason: str, /) -> bool:
        """Return whether that entry is there, as it was written."""
        text, releases = await read_text(tree, self._root), _releases_of(targets)
        return await asyncio.to_thread(self.overrides.is_there, text, self._root, releases, reason)

    async def without_override(
        self, tree: WorkTree, targets: Sequence[Target], reason: str, /
    ) -> Sequence[str]:
        """Take that entry out."""
        if not await self.has_override(tree, targets, reason):
            raise Stuck(f"`{self._root}` overrides nothing of the kind.")
        text, releases = await read_text(tree, self._root), _releases_of(targets)
        changed = await asyncio.to_thread(self.overrides.remove, text, self._root, releases, reason)
        await tree.write(self._root, changed.encode())
        return []


def _releases_of(targets: Sequence[Target]) -> dict[str, str]:
    return {target.name: target.new for target in targets}


def _find_matches_around(pattern: re.Pattern[str], text: str, at: int) -> Iterator[re.Match[str]]:
    return (each for each in pattern.finditer(text) if each.start() <= at <= each.end())


def _plain(text: str, file: str) -> Table:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Unfit("unsafe", f"`{file}` is not TOML that can be read: {error}") from error


def _name(text: object) -> str:
    try:
        return str(canonicalize_name(Requirement(str(text)).name))
    except InvalidRequirement:
        return ""
