"""Read a Cargo.lock.

https://doc.rust-lang.org/cargo/guide/cargo-toml-vs-cargo-lock.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agents.pipelines.remediate.ladder.files import Table, host, packages, texts
from agents.pipelines.remediate.ladder.locked import Entry
from agents.pipelines.remediate.ladder.values import Unfit

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,100}")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]{1,80})?")
_PLACE = re.compile(r"(?:registry|sparse|git)\+(.*)", re.DOTALL)


def crate_name(package: str) -> str:
    """Return a crate's name, which may stand on a command line. Raises Unfit for others."""
    if not _NAME.fullmatch(package):
        raise Unfit("unsafe", "A crate has a name that Fettle does not put on command lines.")
    return package


def entries_of(lock: Table, path: str) -> tuple[Entry, ...]:
    """Return the entries; what has no source is the repository's own. Raises Unfit."""
    found = packages(lock, path)
    for table in found:
        crate_name(str(table.get("name", "")))
        if not _VERSION.fullmatch(str(table.get("version", ""))):
            raise Unfit("unsafe", f"`{path}` has a version of {table['name']} that is none.")
    keys: dict[str, str] = {}
    for table in found:
        key = _key(table)
        for short in (table["name"], f"{table['name']} {table['version']}", key):
            keys[short] = key
    apart = lock.get("metadata")  # where the oldest format has the checksums
    sums = apart if isinstance(apart, dict) else {}
    return tuple(_entry(table, keys, sums.get(f"checksum {_key(table)}")) for table in found)


def _key(table: Table) -> str:
    key = f"{table['name']} {table['version']}"
    return f"{key} ({table['source']})" if table.get("source") else key


def _entry(table: Table, keys: Mapping[str, str], apart: object) -> Entry:
    source = str(table.get("source", ""))
    place = _PLACE.fullmatch(source)
    checksum = table.get("checksum", apart)
    return Entry(
        key=_key(table),
        name=str(table["name"]),
        version=str(table["version"]),
        source=source,
        hosts=(host(place[1]),) if place else (),
        hashes=(checksum,) if isinstance(checksum, str) else (),
        needs=tuple(keys[each] for each in texts(table.get("dependencies")) if each in keys),
        own=not source,
    )
