"""Read npm's package-lock.json, and replace entries by other releases.

https://docs.npmjs.com/cli/configuring-npm/package-lock-json
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping

from agents.pipelines.remediate.ladder.files import MOST_ENTRIES, host, resolve_inside
from agents.pipelines.remediate.ladder.locked import Entry, Locked
from agents.pipelines.remediate.ladder.npm.files import SECTIONS, Table, check_entry, pairs, table
from agents.pipelines.remediate.ladder.npm.places import Neighbours, source_of
from agents.pipelines.remediate.ladder.values import Unfit

_MODULES = "node_modules"
_MOST_MEMBERS = 500
BUNDLED = "bundled with its parent"
_FLAGS = ("dev", "optional", "devOptional", "peer")
_STATED = ("version", "resolved", "integrity")
_UNNAMED = re.compile(r"[^\w.~@-]+", re.ASCII)
_LONGEST_FOLDER = 200

_OLD = (
    "`{path}` is of lockfileVersion {version}. npm 7 and later would write it anew, which is "
    "no fix that can be looked through. Lock again with a newer npm (`npm install "
    "--package-lock-only`), then ask again."
)


def packages_of(lock: Table, path: str) -> dict[str, Table]:
    """Return the packages of a lock file by where they are installed. Raises Unfit."""
    version = lock.get("lockfileVersion")
    if version not in (2, 3):
        raise Unfit("unsupported", _OLD.format(path=path, version=str(version)[:20]))
    found = lock.get("packages")
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise Unfit("unsafe", f"`{path}` does not list its packages as lock files do.")
    if len(found) > MOST_ENTRIES:
        raise Unfit("unsafe", f"`{path}` lists more than {MOST_ENTRIES} packages.")
    return found


def manifests_of(packages: Mapping[str, Table], directory: str, path: str) -> tuple[str, ...]:
    """Return the package.json of the root and of each member. Raises Unfit for what leaves."""
    folders = [
        resolve_inside(directory, place or ".", path)
        for place in packages
        if not is_installed(place)
    ]
    if len(folders) > _MOST_MEMBERS:
        raise Unfit("unsafe", f"`{path}` has more than {_MOST_MEMBERS} members.")
    root = posixpath.join(directory, "package.json")
    return tuple(dict.fromkeys((root, *(posixpath.join(f, "package.json") for f in folders))))


def entries_of(packages: Mapping[str, Table], path: str) -> tuple[Entry, ...]:
    """Return the entries; links to members are looked through. Raises Unfit."""
    shown = ((place, each) for place, each in packages.items() if not each.get("link"))
    return tuple(_entry(place, each, packages, path) for place, each in shown)


def name_at(place: str, package: Table) -> str:
    """Return the name of what is installed at a place, whatever it is called there."""
    return str(package.get("name") or place.rpartition(f"{_MODULES}/")[2])


def from_index(package: Table) -> bool:
    """Return whether an index provides it, so that another release may take its place."""
    resolved = str(package.get("resolved") or "")
    web = resolved.startswith(("https://", "http://")) or not resolved
    return web and bool(package.get("version")) and not _is_bundled(package)


def _is_bundled(package: Table) -> bool:
    """Return whether its parent's archive holds it: what the repository bundles has a hash itself.

    https://docs.npmjs.com/cli/configuring-npm/package-json#bundledependencies
    """
    return bool(package.get("inBundle")) and not package.get("integrity")


def find_bundler(entry: Entry, locked: Locked) -> Entry:
    """Return the package in whose archive a bundled one lies; that itself where none is there."""
    outer = entry.key.rpartition(f"/{_MODULES}/")[0]
    above = locked.by_key.get(outer, entry)
    return find_bundler(above, locked) if above.source == BUNDLED and above != entry else above


def neighbours_of(packages: Mapping[str, Table]) -> Neighbours:
    """Return how the entries say where they come from."""
    return Neighbours(
        (name_at(place, each), str(each["version"]), str(each.get("resolved") or ""))
        for place, each in packages.items()
        if is_installed(place) and not each.get("link") and from_index(each)
    )


def replace_releases(
    packages: dict[str, Table],
    moves: Mapping[str, tuple[str, str]],
    releases: Mapping[tuple[str, str], Mapping[str, Table]],
) -> list[str]:
    """Put releases in the place of what is installed there; return whose host is another now."""
    neighbours, changed = neighbours_of(packages), []
    for place, (name, version) in moves.items():
        old = packages[place]
        _remove(packages, place, bundled=True)
        for below, entry in releases[name, version].items():
            packages[f"{place}{below}"] = new = dict(entry)
            new.update({flag: old[flag] for flag in _FLAGS if flag in old})
        new = packages[place]
        new.pop("name", None)
        if place.rpartition(f"{_MODULES}/")[2] != name:
            new["name"] = name
        was = str(new.get("resolved") or "")
        _say(new, neighbours.address(name, version, was))
        changed += [name] if _has_moved_host(new, was) else []
    return changed


def remove_copies(packages: dict[str, Table], names: Collection[str]) -> None:
    """Take all copies of these packages out, so that npm chooses anew."""
    for place in [
        p for p, each in packages.items() if is_installed(p) and name_at(p, each) in names
    ]:
        if place in packages and from_index(packages[place]):
            _remove(packages, place, bundled=False)
            del packages[place]


def restore_sources(old: Table, new: Table) -> list[str]:
    """Let new entries say where they come from as their neighbours do; return whose host changed.

    What the sandbox fetched from is nobody's business but the operator's.
    """
    before, moved, changed = table(old.get("packages")), {}, []
    neighbours = neighbours_of(before)
    for place, package in table(new.get("packages")).items():
        if not is_installed(place) or package.get("link") or not from_index(package):
            continue
        if all(package.get(key) == before.get(place, {}).get(key) for key in _STATED):
            continue
        name, was = name_at(place, package), str(package.get("resolved") or "")
        address = neighbours.address(name, str(package["version"]), was)
        if address != was:
            moved[was] = address
            _say(package, address)
            changed += [name] if _has_moved_host(package, was) else []
    _rename(table(new.get("dependencies")), moved)
    return changed


def remove_at(packages: dict[str, Table], places: Collection[str]) -> None:
    """Take what is at these places out, with all below it, so that npm chooses anew."""
    for place in places:
        if packages.pop(place, None) is not None:
            _remove(packages, place, bundled=False)


def _has_moved_host(package: Table, was: str) -> bool:
    return bool(package.get("resolved")) and host(str(package["resolved"])) != host(was)


def _say(package: Table, address: str) -> None:
    if address:
        package["resolved"] = address
    else:
        package.pop("resolved", None)


def _rename(dependencies: Table, moved: Mapping[str, str]) -> None:
    """Change addresses in the part of a lock file that is there for npm before 7."""
    waiting = [dependencies]
    while waiting:
        for package in map(table, waiting.pop().values()):
            if package.get("resolved") in moved:
                _say(package, moved[package["resolved"]])
            waiting.append(table(package.get("dependencies")))


def _entry(place: str, package: Table, packages: Mapping[str, Table], path: str) -> Entry:
    own = not is_installed(place)
    name = _name_member(place, package) if own else name_at(place, package)
    name, version = check_entry(name, package.get("version"), path)
    resolved = str(package.get("resolved") or "")
    return Entry(
        key=place,
        name=name,
        version=version,
        source=BUNDLED if _is_bundled(package) else source_of(name, version, resolved),
        hosts=(host(resolved),) if host(resolved) else (),
        hashes=tuple(sorted(str(package.get("integrity") or "").split())),
        needs=tuple(dict.fromkeys(_needs(place, package, packages))),
        own=own,
        asks={n: spec for section in SECTIONS for n, spec in pairs(package.get(section))},
    )


def _name_member(place: str, package: Table) -> str:
    """Return the name of the root or a member; npm writes none that its folder has as well."""
    folder = _UNNAMED.sub("-", posixpath.basename(place))[:_LONGEST_FOLDER]
    return str(package.get("name") or folder or ".")


def _needs(place: str, package: Table, packages: Mapping[str, Table]) -> Iterator[str]:
    for section in SECTIONS:
        for name in table(package.get(section)):
            found = resolve_place(place, name, packages)
            if found is not None:
                yield found


def resolve_place(place: str, name: str, packages: Mapping[str, Table]) -> str | None:
    """Return what a package gets when it asks for this name: the nearest, as Node.js looks."""
    while True:
        at = posixpath.join(place, _MODULES, name)
        if at in packages:
            link = packages[at].get("link")
            target = str(packages[at].get("resolved") or "")
            return target if link and target in packages else at
        if not place:
            return None
        outer = place.rpartition(f"{_MODULES}/")[0]
        place = outer.rstrip("/") if is_installed(place) else posixpath.dirname(place)


def is_installed(place: str) -> bool:
    """Return whether a package lies there, and not the root or a member."""
    return _MODULES in place.split("/")


def _remove(packages: dict[str, Table], place: str, *, bundled: bool) -> None:
    """Take out what lies below a place: all of it, or what was bundled there."""
    below = [each for each in packages if each.startswith(f"{place}/{_MODULES}/")]
    for each in below:
        if not bundled or _is_bundled(packages[each]):
            del packages[each]
