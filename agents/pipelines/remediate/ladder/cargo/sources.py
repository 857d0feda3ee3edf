"""What a repository puts in the place of crates.io.

https://doc.rust-lang.org/cargo/reference/source-replacement.html
"""

from __future__ import annotations

import json
import posixpath
import re

from agents.errors import ToolError
from agents.pipelines.remediate.ladder.files import Table, host, read_toml
from agents.pipelines.remediate.ladder.locked import Entry
from agents.pipelines.remediate.ladder.npm.files import name_host, table
from agents.ports import WorkTree

PUBLIC = "crates-io"
CONFIG = ".cargo/config.toml"

_PUBLIC_SOURCES = (
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
)
_NAMES = (CONFIG, ".cargo/config")
_PLAIN = re.compile(r"(?:sparse\+)?https?://[A-Za-z0-9.:/_-]+")
_CONFIGURED = """\
[source.crates-io]
replace-with = "fettle"
[source.fettle]
registry = {url}
"""


def find_registry_host(entry: Entry) -> str:
    """Return the host of the registry that a crate is locked from; empty: crates.io, or none."""
    is_other = entry.source.startswith(("registry+", "sparse+"))
    return "".join(entry.hosts) if is_other and entry.source not in _PUBLIC_SOURCES else ""


async def read_replacement(tree: WorkTree, directory: str) -> str:
    """Return the registry that the nearest settings put in crates.io's place; empty: none."""
    while True:
        for name in _NAMES:
            path = posixpath.join(directory, name)
            if url := _find_replacement(await _read_if_there(tree, path)):
                return url
        if not directory:
            return ""
        directory = posixpath.dirname(directory)


def find_replacement_host(url: str) -> str:
    """Return its host, in words where there is none to be read."""
    return name_host(url.removeprefix("sparse+"))


def write_config(url: str) -> str:
    """Return settings for cargo that put it in the same place; empty for what is not obeyed."""
    return _CONFIGURED.format(url=json.dumps(url)) if _PLAIN.fullmatch(url) and host(url) else ""


def _find_replacement(settings: Table) -> str:
    sources = table(settings.get("source"))
    passed, name = [PUBLIC], table(sources.get(PUBLIC)).get("replace-with")
    if not isinstance(name, str):
        return ""
    while name not in passed:
        passed.append(name)
        name = str(table(sources.get(name)).get("replace-with") or name)
    named = table(table(settings.get("registries")).get(name))
    return str(table(sources.get(name)).get("registry") or named.get("index") or "")


async def _read_if_there(tree: WorkTree, path: str) -> Table:
    try:
        await tree.read(path)
    except ToolError:
        return {}
    return await read_toml(tree, path)
