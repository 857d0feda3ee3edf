"""Read pnpm's pnpm-lock.yaml, formats 6 and 9."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping

from agents.pipelines.remediate.ladder.files import MOST_ENTRIES, host, resolve_inside
from agents.pipelines.remediate.ladder.locked import Entry
from agents.pipelines.remediate.ladder.npm.files import Table, check_entry, table
from agents.pipelines.remediate.ladder.npm.places import source_of
from agents.pipelines.remediate.ladder.values import Unfit

_MOST_MEMBERS = 500
_FORMATS = {"6.0": "6", "6.1": "6", "9.0": "9"}
_KEY = re.compile(r"/?((?:@[^/@()]+/)?[^/@()]+)@([^()]+?)(\(.*)?", re.DOTALL)
_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]*)?")
_NEEDED = ("dependencies", "optionalDependencies", "devDependencies")

_OTHER = (
    "`{path}` is of a format that Fettle does not know: {version}. Lock again with pnpm 8 or newer,"
    " then ask again."
)
_HOOKS = (
    "`{path}` was made with a .pnpmfile.cjs, which is a program. Fettle does not run it, and pnpm "
    "without it would lock something else."
)


def format_of(lock: Table, path: str) -> str:
    """Return which format a lock file has: 6 or 9. Raises Unfit for others."""
    version = str(lock.get("lockfileVersion"))
    if version not in _FORMATS:
        raise Unfit("unsupported", _OTHER.format(path=path, version=version[:20]))
    if lock.get("pnpmfileChecksum"):
        raise Unfit("unsupported", _HOOKS.format(path=path))
    return _FORMATS[version]


def importers_of(lock: Table) -> dict[str, Table]:
    """Return the root and the members by their folders, as seen from the lock file."""
    found = lock.get("importers")
    if found is None:
        return {".": {key: lock[key] for key in _NEEDED if key in lock}}
    return {str(folder): table(each) for folder, each in table(found).items()}


def manifests_of(lock: Table, directory: str, path: str) -> tuple[str, ...]:
    """Return the package.json of the root and of each member. Raises Unfit for what leaves."""
    folders = [resolve_inside(directory, folder, path) for folder in importers_of(lock)]
    if len(folders) > _MOST_MEMBERS:
        raise Unfit("unsafe", f"`{path}` has more than {_MOST_MEMBERS} members.")
    root = posixpath.join(directory, "package.json")
    return tuple(dict.fromkeys((root, *(posixpath.join(f, "package.json") for f in folders))))


def entries_of(lock: Table, path: str) -> tuple[Entry, ...]:
    """Return the entries: one for each package with the peers that it was resolved with."""
    packages = table(lock.get("packages"))
    snapshots = table(lock.get("snapshots")) if format_of(lock, path) == "9" else packages
    if len(packages) + len(snapshots) > 2 * MOST_ENTRIES:
        raise Unfit("unsafe", f"`{path}` lists more than {MOST_ENTRIES} packages.")
    entries = []
    for key, snapshot in snapshots.items():
        package = table(packages.get(key)) or table(packages.get(key.partition("(")[0]))
        entries.append(_entry(key, package, table(snapshot), snapshots, path))
    for folder, importer in importers_of(lock).items():
        needs = tuple(dict.fromkeys(_needs(importer, snapshots)))
        key = f"importer:{folder}"
        entries.append(Entry(key=key, name=folder, version="", needs=needs, own=True))
    return tuple(entries)


def remove_new_tarballs(old: str, new: str) -> str:
    """Return the lock file without addresses that pnpm wrote into it anew.

    pnpm names the file of a release where the index keeps it at an unusual place. A mirror does,
    and whose mirror it was is nobody's business but the operator's.
    """
    if "tarball: " in old:
        return new
    return re.sub(r"(resolution: \{integrity: [^,}\n]+), tarball: https?://[^,}\n]+\}", r"\1}", new)


def _entry(
    key: str, package: Table, snapshot: Table, snapshots: Mapping[str, object], path: str
) -> Entry:
    found = _KEY.fullmatch(key)
    name = package.get("name") or (found[1] if found else None)
    version = package.get("version") or (found[2] if found and _RELEASE.fullmatch(found[2]) else "")
    name, version = check_entry(name, version, path)
    resolution = table(package.get("resolution"))
    tarball = str(resolution.get("tarball") or "")
    plain = {k: v for k, v in resolution.items() if k not in ("integrity", "tarball")}
    source = json.dumps(plain, sort_keys=True) if plain else source_of(name, version, tarball)
    integrity = resolution.get("integrity")
    return Entry(
        key=key,
        name=name,
        version=version,
        source=source,
        hosts=(host(tarball),) if host(tarball) else (),
        hashes=(integrity,) if isinstance(integrity, str) else (),
        needs=tuple(dict.fromkeys(_needs(snapshot, snapshots))),
    )


def _needs(holder: Table, snapshots: Mapping[str, object]) -> Iterator[str]:
    for section in _NEEDED:
        for name, value in table(holder.get(section)).items():
            version = value.get("version") if isinstance(value, dict) else value
            if isinstance(version, str):
                keys = (version, f"{name}@{version}", f"/{name}@{version}")
                yield from (key for key in keys if key in snapshots)
