"""Registry addresses of lock entries, and new entries written like their neighbours."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from agents.pipelines.remediate.ladder.files import host

OMITTED = ""
"""The place of entries that name none: they come from whatever index is configured."""

_WEB = re.compile(r"https?://", re.IGNORECASE)


def place_of(name: str, version: str, resolved: str) -> str | None:
    """Return what comes before the usual path of a package's file; None where that is unusual."""
    for path in _paths(name, version):
        if resolved.endswith(f"/{path}") and _WEB.match(resolved):
            return resolved.removesuffix(path)
    return None


def source_of(name: str, version: str, resolved: str) -> str:
    """Return where an entry comes from, for comparing it with others."""
    if not resolved:
        return OMITTED
    usual = place_of(name, version, resolved)
    if usual is not None:
        return usual
    if _WEB.match(resolved):
        return f"{resolved.partition(':')[0].lower()}://{host(resolved)}/"
    return resolved.partition("#")[0]


class Neighbours:
    """Knows how the entries of one lock file say where they come from."""

    def __init__(self, entries: Iterable[tuple[str, str, str]]) -> None:
        """Take name, version and address of each entry that an index provided."""
        self._places: defaultdict[str, Counter[str | None]] = defaultdict(Counter)
        for name, version, resolved in entries:
            place = place_of(name, version, resolved) if resolved else OMITTED
            for key in (name, _scope(name), ""):
                self._places[key][place] += 1

    def place(self, name: str) -> str | None:
        """Return where a package comes from here: as it does already, or its scope, or most do."""
        for key in (name, _scope(name), ""):
            if self._places[key]:
                return self._places[key].most_common(1)[0][0]
        return None

    def address(self, name: str, version: str, resolved: str) -> str:
        """Return the address to write for a new entry; empty to write none.

        What an index of another layout says is left as it is, and is not hidden from the checks.
        """
        place = self.place(name)
        if place is None or (resolved and place_of(name, version, resolved) is None):
            return resolved
        return f"{place}{next(_paths(name, version))}" if place else OMITTED


def _paths(name: str, version: str) -> Iterator[str]:
    file = f"{name.rpartition('/')[2]}-{version.partition('+')[0]}.tgz"
    return iter((f"{name}/-/{file}", f"{name.replace('/', '%2f')}/-/{file}"))


def _scope(name: str) -> str:
    return name.partition("/")[0] if name.startswith("@") else "/unscoped"
