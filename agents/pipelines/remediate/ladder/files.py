"""Read Python's dependency files within bounds, never through a link."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from agents.errors import ToolError
from agents.pipelines.remediate.ladder.values import Unfit
from agents.ports import WorkTree
from agents.text.toml import toml_in

LOCK_LIMIT = 16_000_000
MANIFEST_LIMIT = 1_000_000
MOST_ENTRIES = 20_000
LONGEST = 200

Table = dict[str, Any]


async def read_text(tree: WorkTree, path: str, limit: int = MANIFEST_LIMIT) -> str:
    """Return a file's text. Raises Unfit for links, for what is too large, for what is no text."""
    try:
        return (await tree.read(path, limit=limit)).decode()
    except (ToolError, UnicodeDecodeError) as error:
        raise Unfit("unsafe", f"`{path}` cannot be read: {error}") from error


async def read_toml(tree: WorkTree, path: str, limit: int = MANIFEST_LIMIT) -> Table:
    """Return a TOML file's content. Raises Unfit."""
    text = await read_text(tree, path, limit)
    try:
        return await asyncio.to_thread(toml_in, text)
    except ValueError as error:
        raise Unfit("unsafe", f"`{path}` is not TOML that can be read: {error}") from error


def packages(lock: Table, path: str) -> list[Table]:
    """Return the tables of a lock file's packages. Raises Unfit when they are none, or too many."""
    found = lock.get("package", [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Unfit("unsafe", f"`{path}` does not list its packages as lock files do.")
    if len(found) > MOST_ENTRIES:
        raise Unfit("unsafe", f"`{path}` lists more than {MOST_ENTRIES} packages.")
    return found


def map_keys(found: Iterable[Table], path: str) -> dict[str, list[str]]:
    """Return the keys (`name@version`) of each name in these tables of a lock file."""
    keys: dict[str, list[str]] = {}
    for table in found:
        name, version = read_name_and_version(table, path)
        keys.setdefault(name, []).append(f"{name}@{version}")
    return keys


def read_name_and_version(table: Table, path: str) -> tuple[str, str]:
    """Return name and version of a package's table; the version may be empty. Raises Unfit.

    Both become part of command lines later.
    """
    name, version = str(table.get("name", "")), str(table.get("version", ""))
    try:
        if len(version) > LONGEST or len(name) > LONGEST:
            raise Unfit("unsafe", f"`{path}` has a package with an endless name or version.")
        clean = str(canonicalize_name(name, validate=True))
        return clean, str(version) if not version or Version(version) else ""
    except (InvalidName, InvalidVersion) as error:
        raise Unfit(
            "unsafe", f"`{path}` has a package that has no valid name or version: {error}"
        ) from error


def resolve_inside(directory: str, path: str, file: str) -> str:
    """Return a path that a file names, from the repository's root. Raises Unfit if it leaves."""
    joined = posixpath.normpath(posixpath.join(directory, path))
    if joined.startswith(("../", "/")) or joined == ".." or "\0" in path:
        raise Unfit("unsafe", f"`{file}` leads out of the repository: `{path[:LONGEST]}`.")
    return "" if joined == "." else joined


def host(url: str) -> str:
    """Return where a URL leads, without anything secret; empty for what is none."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or ""
    except ValueError:
        return "an address that cannot be read"


def texts(value: object) -> list[str]:
    """Return the strings of a list; of anything else none."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def tables(value: object) -> list[Table]:
    """Return the tables of a list; of anything else none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
