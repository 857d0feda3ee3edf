"""Cargo's registries, read from its file and variables, since cargo has no command for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.parse_url import add, add_mirror
from app.dependencies.indexes.result import Configured
from app.dependencies.loopback_bridge import CARGO

PUBLIC = "https://index.crates.io/"
"""What cargo asks where no source replaces it; it cannot be asked for that."""

_SPARSE = "sparse+"
_GIT = "cargo is configured for a git index; set-ups can use sparse ones only."
_KEPT = ("registry", "replace-with", "directory", "local-registry")
_VARIABLE = re.compile(r"^CARGO_REGISTRIES_([A-Z0-9_]+)_INDEX$")


async def cargo_indexes(operator: Operator) -> Configured:
    """Return the registries that cargo is configured for.

    https://doc.rust-lang.org/cargo/reference/config.html
    """
    made = Configured("cargo")
    home = Path(operator.environ.get("CARGO_HOME") or operator.home / ".cargo")
    settings = operator.first_toml([home / "config.toml", home / "config"])
    sources = _tables(settings.get("source"))
    registries = _tables(settings.get("registries"))
    for name, value in operator.environ.items():
        if match := _VARIABLE.match(name):
            registries[match[1].lower().replace("_", "-")] = {"index": value}
    replaced, mirror = _find_mirror(sources, registries)
    others = {name: source for name, source in sources.items() if not (mirror and name in replaced)}
    lines = [*_sources(made, operator, others), *_registries(made, operator, registries)]
    made.files[CARGO] = "\n".join([*lines, ""])
    made.environment["CARGO_REGISTRIES_CRATES_IO_PROTOCOL"] = "sparse"
    if mirror.startswith(_SPARSE):
        url = mirror.removeprefix(_SPARSE)
        add_mirror(made, operator, url, (PUBLIC,), kind="cargo")
    elif mirror:
        made.notes.append(_GIT)
    elif not replaced:
        add(made, operator, [PUBLIC], "cargo")
    return made


def _find_mirror(
    sources: Mapping[str, Mapping[str, Any]], registries: Mapping[str, Mapping[str, Any]]
) -> tuple[list[str], str]:
    """Return the sources that stand for the public index, one after the other, and their registry.

    Cargo files what it has fetched under its source's address: so sandboxes ask for the public one,
    in the set-up as in a run, which finds what was fetched only then.
    """
    passed, name = ["crates-io"], sources.get("crates-io", {}).get("replace-with")
    if not isinstance(name, str):
        return [], ""
    while name not in passed:
        passed.append(name)
        name = str(sources.get(name, {}).get("replace-with") or name)
    source = sources.get(name, {})
    url = source.get("registry") or registries.get(name, {}).get("index")
    return passed, url if isinstance(url, str) else ""


def _sources(
    made: Configured, operator: Operator, sources: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    for name, source in sources.items():
        kept = {key: str(source[key]) for key in _KEPT if key in source}
        if "registry" in kept:
            kept["registry"] = _add(made, operator, kept["registry"])
        for key in ("directory", "local-registry"):
            if key in kept:
                add(made, operator, [kept[key]], "links")
        yield f"[source.{json.dumps(name)}]"
        yield from (f"{key} = {json.dumps(value)}" for key, value in kept.items())


def _registries(
    made: Configured, operator: Operator, registries: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    for name, registry in registries.items():
        if "index" in registry:
            yield f"[registries.{json.dumps(name)}]"
            yield f"index = {json.dumps(_add(made, operator, str(registry['index'])))}"


def _add(made: Configured, operator: Operator, url: str) -> str:
    """Add one registry; return its address without credentials."""
    sparse = url.removeprefix(_SPARSE)
    if sparse == url:
        made.notes.append(_GIT)
        return ""
    return _SPARSE + "".join(add(made, operator, [sparse], "cargo"))


def _tables(found: object) -> dict[str, Mapping[str, Any]]:
    tables = found if isinstance(found, dict) else {}
    return {str(name): table for name, table in tables.items() if isinstance(table, dict)}
