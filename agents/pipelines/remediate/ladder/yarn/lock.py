"""Read the yarn.lock of Yarn 3 and 4, and say which of its releases wrote it.

https://yarnpkg.com/advanced/lexicon#descriptor
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

from agents.pipelines.remediate.ladder.files import MOST_ENTRIES, host, resolve_inside
from agents.pipelines.remediate.ladder.locked import Entry
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.files import Table, check_entry, pairs, table
from agents.pipelines.remediate.ladder.npm.places import OMITTED, source_of
from agents.pipelines.remediate.ladder.pnpm.yaml_text import load_yaml
from agents.pipelines.remediate.ladder.values import Unfit
from agents.pipelines.remediate.ladder.yarn.resolutions import Resolution

_RELEASES = {"6": "3.8.7", "8": "4.12.0", "9": "4.14.1", "10": "4.18.1"}
"""A release that writes each format, where the manifest names none."""
_NAMED = re.compile(r"yarn@([34]\.[0-9]{1,3}\.[0-9]{1,3})(?:\+.*)?")
_CACHE = re.compile(r"[0-9]{1,3}(?:c(0|[1-9]|mixed))?")
_DESCRIPTOR = re.compile(r"((?:@[^/@]+/)?[^@]+)@(.+)", re.DOTALL)
_RESOLUTION = re.compile(r"((?:@[^/@]+/)?[^@]+)@(npm|workspace|patch|portal|link):(.*)", re.DOTALL)
_BUILT_IN = "#~builtin<"
_PATCHED = "patched by the repository"
_PATCH = re.compile(r"(?:optional!)?(~|\.{1,2})/([^:&#!]+)")
_MEMBER = re.compile(r"(?:.*&)?locator=[^&]*%40workspace%3A([^&]+)(?:&.*)?")
_MOST_PATCHES = 200
_FOLDER = re.compile(r"([^:&#]+)::(.*)", re.DOTALL)
_ARCHIVE = "::__archiveUrl="
_MOST_MEMBERS = 500
_NEEDED = ("dependencies", "optionalDependencies")
_CATALOG = "catalog:"

_OTHER = (
    "`{path}` is of a format that Fettle does not know: {version}. Lock again with Yarn 3.8 or a"
    " newer one, then ask again."
)
_PLACE = "`{path}` takes `{resolution}` from elsewhere than an index, which Fettle does not lock."


def is_classic(text: str) -> bool:
    """Return whether it is a lock file of Yarn 1, which is no YAML and has no format."""
    return "__metadata:" not in text


def load_lock(text: str, path: str) -> Table:
    """Return what the file holds. Raises Unfit for formats not known."""
    lock = load_yaml(text, path)
    version = format_of(lock)
    if version not in _RELEASES:
        raise Unfit("unsupported", _OTHER.format(path=path, version=version[:20]))
    if len(lock) > MOST_ENTRIES:
        raise Unfit("unsafe", f"`{path}` lists more than {MOST_ENTRIES} packages.")
    return lock


def format_of(lock: Table) -> str:
    """Return the lock file's format, which a release of Yarn has to keep."""
    return str(table(lock.get("__metadata")).get("version"))


def release_of(lock: Table, manifest: Table) -> str:
    """Return the release to take: the one that the manifest names, or one of that format."""
    found = _NAMED.fullmatch(str(manifest.get("packageManager") or ""))
    return found[1] if found else _RELEASES[format_of(lock)]


def compression_of(lock: Table) -> str:
    """Return how packages are packed, which their checksums hang on; empty: as usual."""
    found = _CACHE.fullmatch(str(table(lock.get("__metadata")).get("cacheKey")))
    return (found[1] or "") if found else ""


def list_descriptors(key: str) -> list[str]:
    """Return who asks for an entry: `name@npm:^1.2.0` each."""
    return key.split(", ")


def range_of(descriptor: str) -> str:
    """Return the range that a descriptor asks an index for; empty where it asks for another."""
    found = _DESCRIPTOR.fullmatch(descriptor)
    return found[2].removeprefix("npm:") if found and found[2].startswith("npm:") else ""


def members_of(lock: Table, directory: str, path: str) -> tuple[str, ...]:
    """Return the package.json of the root and of each member. Raises Unfit for what leaves.

    What lies in a folder of the repository is read there like a member, unless it is a mere link.
    https://yarnpkg.com/protocol/portal
    """
    stated = (str(table(entry).get("resolution")) for entry in lock.values())
    found = (_find_folder(each) for each in stated if "@link:" not in each)
    folders = [resolve_inside(directory, each, path) for each in found if each is not None]
    if len(folders) > _MOST_MEMBERS:
        raise Unfit("unsafe", f"`{path}` has more than {_MOST_MEMBERS} members.")
    root = posixpath.join(directory, "package.json")
    return tuple(dict.fromkeys((root, *(posixpath.join(f, "package.json") for f in folders))))


def patches_of(lock: Table, directory: str, path: str) -> tuple[str, ...]:
    """Return the patches that are laid on packages. Raises Unfit for what leaves the repository.

    https://yarnpkg.com/protocol/patch
    """
    stated = (str(table(entry).get("resolution")) for entry in lock.values())
    files = {file: None for each in stated for file in _list_patches(each)}
    if len(files) > _MOST_PATCHES:
        raise Unfit("unsafe", f"`{path}` has more than {_MOST_PATCHES} patches.")
    return tuple(resolve_inside(directory, file, path) for file in files)


def follow_catalogs(lock: Table, catalogs: Table) -> Table:
    """Return the lock file with what members ask for by way of a catalog as what stands there.

    https://yarnpkg.com/features/catalogs
    """
    named = {"": table(catalogs.get("catalog")), **table(catalogs.get("catalogs"))}
    followed = dict(lock)
    for key, entry in lock.items():
        for section in _NEEDED:
            asked = table(table(entry).get(section))
            told = {
                name: _look_up(table(named.get(spec.removeprefix(_CATALOG))).get(name), spec)
                for name, spec in pairs(asked)
                if spec.startswith(_CATALOG)
            }
            if told:
                followed[key] = {**table(followed[key]), section: {**asked, **told}}
    return followed


def _look_up(found: object, spec: str) -> str:
    """Return what a catalog says as an entry's key has it; the same as before where it has none."""
    if not isinstance(found, str):
        return spec
    return f"npm:{found}" if specs.is_range(found) else found


def list_asked(lock: Table) -> Iterator[tuple[str, str]]:
    """Yield what each entry asks for: the package, and the range as it is written there."""
    for entry in lock.values():
        for section in _NEEDED:
            yield from pairs(table(entry).get(section))


def entries_of(
    lock: Table, path: str, resolutions: Mapping[str, Sequence[Resolution]] | None = None
) -> tuple[Entry, ...]:
    """Return the entries; the repository's own are its members. Raises Unfit.

    `resolutions`: by the package; where they lead is locked, and not what the entries ask for.
    """
    there = {key: table(entry) for key, entry in lock.items() if key != "__metadata"}
    keys = {each: key for key in there for each in list_descriptors(key)}
    follow = _Follow(keys, resolutions or {})
    return tuple(_entry(key, each, follow, path) for key, each in there.items())


def _entry(key: str, entry: Table, follow: _Follow, path: str) -> Entry:
    resolution = str(entry.get("resolution"))
    found = _RESOLUTION.fullmatch(resolution)
    patched = _list_patches(resolution)
    if not (found and (patched or _is_known(found, resolution))):
        raise Unfit("unsupported", _PLACE.format(path=path, resolution=resolution[:120]))
    asks = {name: asked for section in _NEEDED for name, asked in pairs(entry.get(section))}
    here = (found[1], f"{found[2]}:{found[3]}")
    needs = tuple(dict.fromkeys(follow.list_needs(*here, asks)))
    if _find_folder(resolution) is not None:
        return Entry(key=key, name=found[1], version="", needs=needs, own=True)
    name, version = check_entry(found[1], entry.get("version"), path)
    archive = unquote(found[3].partition(_ARCHIVE)[2])
    checksum = entry.get("checksum")
    return Entry(
        key=key,
        name=name,
        version=version,
        source=_PATCHED if patched else source_of(name, version, archive) if archive else OMITTED,
        hosts=(host(archive),) if archive else (),
        hashes=(checksum,) if isinstance(checksum, str) else (),
        needs=needs,
        asks={name: asked.removeprefix("npm:") for name, asked in asks.items()},
    )


def _is_known(found: re.Match[str], resolution: str) -> bool:
    """Return whether an index or the repository has it, or Yarn's own patch is laid on it."""
    if found[2] == "patch":
        return _BUILT_IN in found[3]
    return found[2] == "npm" or _find_folder(resolution) is not None


def _find_folder(resolution: str) -> str | None:
    """Return the folder of a resolution, from the root's; None where it has none of its own."""
    found = _RESOLUTION.fullmatch(resolution)
    if found is None or found[2] not in ("workspace", "portal", "link"):
        return None
    if found[2] == "workspace":
        return found[3]
    place = _FOLDER.fullmatch(found[3])
    member = _MEMBER.fullmatch(place[2]) if place else None
    return posixpath.join(unquote(member[1]), place[1]) if place and member else None


def _list_patches(resolution: str) -> list[str]:
    """Return the files of a resolution's patches, from the root; none where one is elsewhere."""
    found = _RESOLUTION.fullmatch(resolution)
    if found is None or found[2] != "patch":
        return []
    named, _, bound = found[3].partition("#")[2].partition("::")
    member = _MEMBER.fullmatch(bound)
    files = []
    for each in named.split("&"):
        patch = _PATCH.fullmatch(each)
        if patch is None or (patch[1] != "~" and member is None):
            return []
        above = "" if patch[1] == "~" or member is None else f"{unquote(member[1])}/{patch[1]}"
        files.append(posixpath.join(above, patch[2]))
    return files


@dataclass(frozen=True)
class _Follow:
    """Follows what entries ask for to what is locked."""

    keys: Mapping[str, str]
    """The key of the entry that each descriptor leads to."""
    resolutions: Mapping[str, Sequence[Resolution]]

    def list_needs(self, parent: str, reference: str, asks: Mapping[str, str]) -> Iterator[str]:
        """Yield the keys that an entry leads to; Yarn 3 leaves `npm:` out of what it asks for.

        What the lock file does not hold yet is not overruled yet.
        """
        for name, asked in asks.items():
            fits = (
                each.to
                for each in self.resolutions.get(name, ())
                if each.concerns(parent, reference, asked)
            )
            for to in (*islice(fits, 1), asked):
                wanted = (f"{name}@{to}", f"{name}@npm:{to}")
                found = [self.keys[each] for each in wanted if each in self.keys]
                if found:
                    yield found[0]
                    break
