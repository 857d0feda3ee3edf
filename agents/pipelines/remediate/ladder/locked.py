"""A lock file as plain values: entries, who requires whom, direct requirements."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cached_property

from agents.requests import Frozen

PATHS_SHOWN = 5
LONGEST_PATH = 40


class Entry(Frozen):
    """One resolved package. Lock files may hold several copies of one, with keys of their own."""

    key: str
    name: str
    version: str
    """Empty for what has none, such as the repository itself."""
    source: str = ""
    """Where the lock file says it comes from: an index, a URL, a folder. Empty: it does not say."""
    hosts: tuple[str, ...] = ()
    """The hosts of its files."""
    hashes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """The keys of the entries that it needs."""
    own: bool = False
    """Whether it is the repository itself, or one of its members."""
    asks: Mapping[str, str] = {}
    """The versions that it asks for by name, where the lock file says that as well."""


class Own(Frozen):
    """One requirement that the repository states itself."""

    name: str
    spec: str
    file: str
    overrules: bool = False
    """Whether people put it in the place of what other packages ask for."""


class Copy(Frozen):
    """One copy of a package in the lock file, and how the repository comes to need it."""

    name: str
    version: str
    key: str
    paths: tuple[tuple[str, ...], ...] = ()
    """From the repository's own requirement to the copy, shortest first, at most a few."""

    @property
    def parents(self) -> tuple[str, ...]:
        """Return the names of those who need it directly, each once."""
        return tuple(dict.fromkeys(path[-2] for path in self.paths if len(path) > 1))


class Locked(Frozen):
    """The whole lock file, or what stands in for one."""

    entries: tuple[Entry, ...]
    own: tuple[Own, ...] = ()
    tells_needs: bool = True
    """Whether it says which package needs which."""
    notes: tuple[str, ...] = ()
    """What people should know of how versions were told."""

    @cached_property
    def by_key(self) -> dict[str, Entry]:
        """Return the entries by their keys."""
        return {entry.key: entry for entry in self.entries}

    @cached_property
    def by_name(self) -> dict[str, tuple[Entry, ...]]:
        """Return the entries by name, without the repository's own."""
        found: dict[str, tuple[Entry, ...]] = {}
        for entry in self.entries:
            if not entry.own:
                found[entry.name] = (*found.get(entry.name, ()), entry)
        return found

    @cached_property
    def needed_by(self) -> dict[str, tuple[str, ...]]:
        """Return for each key the keys of those who need it."""
        found: dict[str, list[str]] = {}
        for entry in self.entries:
            for key in entry.needs:
                found.setdefault(key, []).append(entry.key)
        return {key: tuple(dict.fromkeys(keys)) for key, keys in found.items()}

    def find_requirements(self, name: str) -> tuple[Own, ...]:
        """Return what the repository itself asks of this package."""
        return tuple(own for own in self.own if own.name == name)

    def copies(self, name: str) -> tuple[Copy, ...]:
        """Return every copy of a package with its reverse paths."""
        return tuple(
            Copy(name=name, version=each.version, key=each.key, paths=tuple(self._paths(each)))
            for each in self.by_name.get(name, ())
        )

    @cached_property
    def _asked_for(self) -> frozenset[str]:
        """Return the keys of what the repository itself asks for.

        Where no entry is the repository, every copy of a name that it asks for may be meant.
        """
        of_own = {key for entry in self.entries if entry.own for key in entry.needs}
        told = {self.by_key[key].name for key in of_own if key in self.by_key}
        named = {own.name for own in self.own if not own.overrules} - told
        return frozenset(of_own | {entry.key for entry in self.entries if entry.name in named})

    def list_new(self, before: Locked) -> list[tuple[str, str]]:
        """Return the packages with the versions that were not there before."""
        known = {(each.name, each.version) for each in before.entries}
        return sorted({(each.name, each.version) for each in self.entries} - known)

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the names of all that need some copy of this package, without the repository."""
        keys = (key for entry in self.by_name.get(name, ()) for key in self.needed_by_of(entry))
        found = (self.by_key[key] for key in keys)
        return tuple(dict.fromkeys(entry.name for entry in found if not entry.own))

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Return the names of all above a package, nearest first."""
        found: dict[str, None] = {}
        waiting = deque([name])
        while waiting:
            for parent in self.parents(waiting.popleft()):
                if parent not in found and parent != name:
                    found[parent] = None
                    waiting.append(parent)
        return tuple(found)

    def needed_by_of(self, entry: Entry) -> tuple[str, ...]:
        """Return the keys of those who need an entry."""
        return self.needed_by.get(entry.key, ())

    def _paths(self, entry: Entry) -> Iterator[tuple[str, ...]]:
        """Yield paths to an entry, breadth first: no entry is passed twice, so it ends.

        What nobody at all is said to ask for has none: many lock files do not tell who needs what.
        """
        waiting: deque[tuple[str, ...]] = deque([(entry.key,)])
        seen, shown = {entry.key}, 0
        while waiting and shown < PATHS_SHOWN:
            path = waiting.popleft()
            first = self.by_key[path[0]]
            parents = [k for k in self.needed_by.get(path[0], ()) if k in self.by_key]
            ends = not parents and len(path) > 1
            if ends or first.key in self._asked_for:
                shown += 1
                yield tuple(self.by_key[key].name for key in path)
            for key in parents:
                if key not in seen and not self.by_key[key].own and len(path) < LONGEST_PATH:
                    seen.add(key)
                    waiting.append((key, *path))
