"""Read npm's and pnpm's files within bounds, and check the package names in them."""

from __future__ import annotations

import asyncio
import json
import posixpath
import re
from collections.abc import Collection, Iterator
from typing import Any

from agents.errors import ToolError
from agents.pipelines.remediate.ladder.files import MANIFEST_LIMIT, host, read_text
from agents.pipelines.remediate.ladder.values import Unfit
from agents.ports import WorkTree

Table = dict[str, Any]

MARK = "\ufeff"
SECTIONS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
LOCKS = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
)

_NAME = re.compile(r"(?:@[A-Za-z0-9_][A-Za-z0-9._~-]*/)?[A-Za-z0-9_][A-Za-z0-9._~-]*")
_LOOSE_NAME = re.compile(r"(?:@[\w.~!'()*-]+/)?[\w.~!'()*-]+", re.ASCII)
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]*")
_LONGEST_NAME, _LONGEST_VERSION = 214, 100

_YARNRC = re.compile(r"""^["']?([^\s"']*registry)["']?\s+["']?([^\s"']+)["']?\s*$""", re.MULTILINE)

_FLAGS = {
    **dict.fromkeys(("legacy-peer-deps", "strict-peer-deps"), re.compile("true|false")),
    **dict.fromkeys(("prefer-dedupe", "install-links"), re.compile("true|false")),
    **dict.fromkeys(("legacy-bundling", "global-style"), re.compile("true|false")),
    "install-strategy": re.compile("hoisted|nested|shallow|linked"),
}
"""The settings of a repository that decide how its lock file looks, and nothing else."""


async def read_json(tree: WorkTree, path: str, limit: int = MANIFEST_LIMIT) -> Table:
    """Return a JSON file's content. Raises Unfit for what is no object."""
    return await asyncio.to_thread(parse_json, await read_text(tree, path, limit), path)


def parse_json(text: str, path: str) -> Table:
    """Return what a JSON file holds, as npm does behind a byte order mark. Raises Unfit."""
    try:
        found = json.loads(text.removeprefix(MARK))
    except (ValueError, RecursionError) as error:
        raise Unfit("unsafe", f"`{path}` is not JSON that can be read: {error}") from error
    if not isinstance(found, dict):
        raise Unfit("unsafe", f"`{path}` holds no JSON object.")
    return found


def table(value: object) -> Table:
    """Return a table; for anything else an empty one."""
    return value if isinstance(value, dict) else {}


def pairs(value: object) -> Iterator[tuple[str, str]]:
    """Yield the members of a table whose values are texts."""
    return ((name, each) for name, each in table(value).items() if isinstance(each, str))


def npm_name(package: str) -> str:
    """Return a package's name, which may stand on a command line. Raises Unfit for others."""
    if len(package) > _LONGEST_NAME or not _NAME.fullmatch(package):
        raise Unfit("unsafe", "A package has a name that Fettle does not put on command lines.")
    return package


def check_entry(name: object, version: object, path: str) -> tuple[str, str]:
    """Return name and version of a lock file's entry; the version may be empty. Raises Unfit."""
    version = "" if version is None else version
    if not isinstance(name, str) or not isinstance(version, str):
        raise Unfit("unsafe", f"`{path}` has a package whose name or version is no text.")
    if len(name) > _LONGEST_NAME or not _LOOSE_NAME.fullmatch(name):
        raise Unfit("unsafe", f"`{path}` has a package with a name that none can have.")
    if len(version) > _LONGEST_VERSION or (version and not _VERSION.fullmatch(version)):
        raise Unfit("unsafe", f"`{path}` has a version of {name} that is none.")
    return name, version


def find_nearest_lock(paths: frozenset[str], directory: str, mine: Collection[str]) -> str | None:
    """Return the lock file of ours at or above a folder, unless another tool's is nearer."""
    directory = directory.strip("/")
    while True:
        there = [name for name in LOCKS if posixpath.join(directory, name) in paths]
        ours = [name for name in mine if name in there]
        if there or not directory:
            return posixpath.join(directory, ours[0]) if ours else None
        directory = posixpath.dirname(directory)


async def flags(tree: WorkTree, directory: str) -> tuple[str, ...]:
    """Return, as options, what a repository's `.npmrc` says of the lock file's looks.

    Nothing else of it is obeyed: it could name other indexes, or what is to run.
    """
    found = {
        name: value
        for name, value in await _read_settings(tree, directory)
        if name in _FLAGS and _FLAGS[name].fullmatch(value)
    }
    return tuple(f"--{name}={value}" for name, value in found.items())


async def read_registry(tree: WorkTree, directory: str, scope: str) -> str:
    """Return the host of the registry that the `.npmrc` names for a scope; empty: none.

    https://docs.npmjs.com/cli/using-npm/scope#associating-a-scope-with-a-registry
    """
    said = dict(await _read_settings(tree, directory))
    return name_host(said.get(f"{scope}:registry") or said.get("registry") or "")


async def read_classic_registry(tree: WorkTree, directory: str, scope: str) -> str:
    """Return the same of a `.yarnrc` of Yarn 1.

    https://classic.yarnpkg.com/en/docs/yarnrc
    """
    text = await _read_if_there(tree, posixpath.join(directory, ".yarnrc"))
    said = {found[1]: found[2] for found in _YARNRC.finditer(text)}
    return name_host(said.get(f"{scope}:registry") or said.get("registry") or "")


def name_host(url: str) -> str:
    """Return the host of an address, in words where it cannot be read; empty: there is none."""
    return host(url) or ("an address that cannot be read" if url else "")


async def _read_settings(tree: WorkTree, directory: str) -> list[tuple[str, str]]:
    text = await _read_if_there(tree, posixpath.join(directory, ".npmrc"))
    lines = (line.partition("=") for line in text.splitlines())
    return [(name.strip(), value.strip().strip("\"'")) for name, _, value in lines]


async def _read_if_there(tree: WorkTree, path: str) -> str:
    try:
        return (await tree.read(path)).decode("utf-8", "replace")
    except ToolError:
        return ""
