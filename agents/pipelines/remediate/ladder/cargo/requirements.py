"""Cargo's version requirements: test a version, and move a requirement to admit one.

https://doc.rust-lang.org/cargo/reference/specifying-dependencies.html
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import tomlkit

from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.python.pyproject import parse_toml

_PIN = re.compile(r"(\s*=\s*)([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?)(\s*)")
_SIGNED = re.compile(r"(\s*[\^~]?\s*)([0-9]+(?:\.[0-9]+){0,2}(?:-[0-9A-Za-z.-]+)?)(\s*)")
_STARRED = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\.\*\s*")
_UPPER = re.compile(r"(\s*)(<=?\s*)([0-9]+(?:\.[0-9]+){0,2})\s*")
_SECTIONS = ("dependencies", "dev-dependencies", "build-dependencies")
_KEPT = frozenset({*_SECTIONS, "features", "target", "package", "workspace", "patch", "replace"})
_KEPT_OF_PACKAGE = ("name", "version", "edition", "rust-version", "resolver", "workspace")
"""What decides how versions are chosen; the rest names files that the copy does not have."""

Table = MutableMapping[str, Any]


def admits(spec: str, version: str) -> bool:
    """Return whether a requirement admits a version; a bare one does as with `^`."""
    return specs.admits(" ".join(map(_to_npm, spec.split(","))), version)


def move_pin(spec: str, version: str) -> str | None:
    """Return the requirement with its pin at the version; None for what is no pin."""
    found = _PIN.fullmatch(spec)
    return f"{found[1]}{version}{found[3]}" if found else None


def move_range(spec: str, version: str) -> str | None:
    """Return the requirement moved to the version's line; upper bounds alone move among several."""
    if pin := move_pin(spec, version):
        return pin
    numbers = re.split(r"[.+-]", version)[:3]
    if starred := _STARRED.fullmatch(spec):
        return ".".join((*numbers[: starred[1].count(".") + 1], "*"))
    found = _SIGNED.fullmatch(spec)
    if not found:
        clauses = (_move_bound(clause, version) for clause in spec.split(","))
        moved = ",".join(clauses)
        return moved if admits(moved, version) and moved != spec else None
    short = ".".join(numbers[: found[2].partition("-")[0].count(".") + 1])
    for bound in (short, version):
        moved = f"{found[1]}{bound}{found[3]}"
        if admits(moved, version):
            return moved
    return None


def _move_bound(clause: str, version: str) -> str:
    """Return one of several bounds, moved above the version if it is an upper one below it."""
    found = _UPPER.fullmatch(clause)
    if not found or admits(clause, version):
        return clause
    start, sign, bound = found.groups()
    if sign.strip() == "<=":
        return f"{start}{sign}{version}"
    numbers = bound.split(".")
    depth = max((at for at, number in enumerate(numbers, 1) if number != "0"), default=1)
    kept = re.split(r"[.+-]", version)[:depth]
    return f"{start}{sign}{'.'.join((*kept[:-1], str(int(kept[-1]) + 1), *numbers[depth:]))}"


def list_tables(manifest: Table) -> Iterator[Table]:
    """Yield the tables of a manifest that state requirements."""
    for place in (manifest, _table(manifest.get("workspace"))):
        yield from (_table(place.get(section)) for section in _SECTIONS)
    for each in _table(manifest.get("target")).values():
        yield from (_table(_table(each).get(section)) for section in _SECTIONS)


def list_requirements(manifest: Table) -> Iterator[tuple[str, str]]:
    """Yield each requirement that leads to the usual index: the package, and the versions."""
    for table in list_tables(manifest):
        for name, value in table.items():
            stated = parse_requirement(name, value)
            if stated is not None:
                yield stated


def parse_requirement(name: str, value: object) -> tuple[str, str] | None:
    """Return package and versions of one entry; None where it leads elsewhere, or is inherited."""
    if isinstance(value, str):
        return name, value
    entry = _table(value)
    spec = entry.get("version")
    if not isinstance(spec, str) or {"git", "path", "registry"} & entry.keys():
        return None
    return str(entry.get("package", name)), spec


def rewrite(
    text: str, file: str, package: str, move: Callable[[str], str | None]
) -> tuple[str, list[str]]:
    """Return the manifest with the package's requirements moved, and the changes for people."""
    document = parse_toml(text, file)
    changes = []
    for table in list_tables(document):
        for name, value in table.items():
            stated = parse_requirement(name, value)
            moved = move(stated[1]) if stated and stated[0] == package else None
            if stated is None or moved is None:
                continue
            if isinstance(value, str):
                table[name] = moved
            else:
                value["version"] = moved
            changes.append(f"`{file}` asks for {package} `{moved}`, not `{stated[1]}`")
    return tomlkit.dumps(document), changes


def list_stand_ins(file: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands in for a package: its manifest without what it runs, an empty library."""
    whole = parse_toml(text, file).unwrap()
    kept = {key: each for key, each in whole.items() if key in _KEPT}
    if isinstance(package := whole.get("package"), dict):
        kept["package"] = {key: each for key, each in package.items() if key in _KEPT_OF_PACKAGE}
        yield posixpath.join(posixpath.dirname(file), "src/lib.rs"), ""
    yield file, tomlkit.dumps(kept)


def _to_npm(part: str) -> str:
    plain = part.strip()
    return f"^{plain}" if plain[:1].isdigit() and not plain.endswith("*") else plain


def _table(value: object) -> Table:
    return value if isinstance(value, MutableMapping) else {}
