"""Compare manifests with their lock files: a change to one of them alone breaks every installation.

What a run installed comes from the lock file as it was before the change, so the checks cannot
notice. The tools that people and CI install with (`npm ci`, `uv sync --locked`) refuse such a pair.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.analysis.repository_files import strings, table
from agents.text import one_line
from agents.text.toml import toml_in

LONGEST = 8_000_000  # characters of a manifest or lock file that are compared
MOST_WISHES = 400  # that are looked for in one
MOST_NAMED = 3

_KINDS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_GEM = re.compile(
    r"""^\s*gem\s*\(?\s*["']([\w.-]+)["']((?:\s*,\s*["'][^"'\n]{0,80}["']){0,5})""", re.MULTILINE
)
_GO = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+(v\S+)", re.MULTILINE)
_MIX = re.compile(r"\{\s*:(\w+)\s*,\s*\"([^\"\n]{0,80})\"")
_WITH_PHP = re.compile(r"php(?:-\w+)?|(?:ext|lib)-[\w.-]+|composer(?:-\w+)*-api")

_SAYS_DEPENDENCIES = re.compile(
    r"(?:pyproject\.toml|uv\.lock|poetry\.lock|Pipfile(?:\.lock)?|setup\.(?:py|cfg)"
    r"|[^/]*requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt|pdm\.lock"
    r"|package\.json|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|\.yarnrc\.yml"
    r"|bun\.lockb?|pylock(?:\.[\w-]+)?\.toml|pnpm-lock\.yaml|pnpm-workspace\.yaml"
    r"|go\.(?:mod|sum|work|work\.sum)|Cargo\.(?:toml|lock)"
    r"|Gemfile(?:\.lock)?|gems\.(?:rb|locked)|[^/]+\.gemspec|composer\.(?:json|lock)|pom\.xml"
    r"|build\.gradle(?:\.kts)?|settings\.gradle(?:\.kts)?|gradle\.(?:lockfile|properties)"
    r"|libs\.versions\.toml|[^/]+\.(?:cs|fs|vb)proj|packages\.(?:config|lock\.json)"
    r"|Directory\.Packages\.props|mix\.(?:exs|lock)|pubspec\.(?:yaml|lock)|Package\.resolved"
    r"|Package\.swift)"
)
"""Files that say what a repository depends on, in every ecosystem that GitHub alerts about."""

_MARKS = re.compile(r"^(?:<{7} |>{7} )", re.MULTILINE)
_OF_JSON = {"package-lock.json", "npm-shrinkwrap.json", "composer.lock", "Pipfile.lock"}
_OF_TOML = {"uv.lock", "poetry.lock", "pdm.lock", "Cargo.lock"}

Wishes = frozenset[tuple[str, str]]
"""Names of packages, each with what is asked for of it."""


def is_dependency_file(path: str) -> bool:
    """Return whether the file says what the repository depends on."""
    return _SAYS_DEPENDENCIES.fullmatch(posixpath.basename(path)) is not None


@dataclass(frozen=True)
class LockPair:
    """A manifest and the lock file that has to hold what it asks for."""

    manifest: str
    lock: str

    @property
    def member(self) -> str:
        """Return the manifest's folder as the lock file calls it; empty for its own."""
        at = posixpath.dirname(self.lock)
        relative = posixpath.relpath(posixpath.dirname(self.manifest) or ".", at or ".")
        return "" if relative == "." else relative


@dataclass(frozen=True)
class PairText:
    """The texts of a pair on one commit."""

    manifest: str
    lock: str


def list_lock_pairs(changed: Iterable[str], paths: Collection[str]) -> list[LockPair]:
    """Return the pairs of which a change touches one: the lock is the nearest one above."""
    found: dict[LockPair, None] = {}
    known = frozenset(paths)
    for path in sorted(changed):
        folder, name = posixpath.split(path)
        for lock, about in _LOCKS.items():
            if name == lock:
                found[LockPair(posixpath.join(folder, about.manifest), path)] = None
            elif name == about.manifest and (nearest := _find_above(folder, lock, known)):
                found[LockPair(path, nearest)] = None
    return [pair for pair in found if {pair.manifest, pair.lock} <= known]


def list_removed_locks(changed: Iterable[str], paths: Collection[str]) -> list[LockPair]:
    """Return the pairs of which a change took the lock away and left the manifest.

    A lock of another tool for the same manifest, beside it or above, is a move to that tool.
    """
    known, found = frozenset(paths), []
    for path in sorted(set(changed) - known):
        folder, lock = posixpath.split(path)
        if not (about := _LOCKS.get(lock)):
            continue
        manifest = posixpath.join(folder, about.manifest)
        others = (each for each, other in _LOCKS.items() if other.manifest == about.manifest)
        if manifest in known and not any(_find_above(folder, each, known) for each in others):
            found.append(LockPair(manifest, path))
    return found


def find_unlocked(pair: LockPair, before: PairText | None, after: PairText) -> list[str]:
    """Return the packages over which the two disagree since the change, the first few by name."""
    about = _LOCKS[posixpath.basename(pair.lock)]
    wishes = about.read(after.manifest)
    earlier = about.read(before.manifest) if before else frozenset()
    moved = wishes ^ earlier
    if moved and about.records and before and before.lock == after.lock:
        return _list_names(moved)
    new = sorted(wishes - earlier)[:MOST_WISHES]
    absent = {wish for wish in new if not about.holds(wish, after.lock)}
    if about.manifest == "package.json" and pair.lock.endswith(".json"):
        held = _read_npm_lock(after.lock, pair.member)
        known = _read_npm_lock(before.lock, pair.member) if before else None
        if held is not None:
            absent |= (held ^ wishes) - ((known ^ earlier) if known is not None else frozenset())
    return _list_names(absent)


def is_broken(lock: str, text: str) -> bool:
    """Return whether no tool reads this lock file: it is empty, not of its form, or half merged."""
    if not text.strip() or _MARKS.search(text):
        return True
    name = posixpath.basename(lock)
    if name in _OF_JSON:
        return not _read_json(text)
    return name in _OF_TOML and not toml_in(text)


def _list_names(wishes: Iterable[tuple[str, str]]) -> list[str]:
    return [one_line(name, 60) for name in sorted({name for name, _ in wishes})[:MOST_NAMED]]


def _find_above(folder: str, name: str, paths: Collection[str]) -> str:
    while (path := posixpath.join(folder, name)) not in paths:
        if not folder:
            return ""
        folder = posixpath.dirname(folder)
    return path


# --- what manifests ask for -----------------------------------------------------------------------


def _read_package_json(text: str, kinds: Sequence[str] = _KINDS) -> Wishes:
    return _list_dependencies(_read_json(text), kinds)


def _list_dependencies(manifest: Mapping[str, object], kinds: Sequence[str] = _KINDS) -> Wishes:
    pairs = ((kind, *pair) for kind in kinds for pair in table(manifest, kind).items())
    return frozenset((name, f"{kind} {wanted}") for kind, name, wanted in pairs)


def _read_without_peers(text: str) -> Wishes:
    """Return what pnpm and Yarn write down; packages of the workspace have no entry there."""
    found = _read_package_json(text, _KINDS[:3])
    return frozenset(wish for wish in found if not re.search(r" (?:workspace|link|file):", wish[1]))


def _read_npm_lock(text: str, member: str) -> Wishes | None:
    """Return what npm's lock file says that this folder asks for; None where it says nothing."""
    packages = table(_read_json(text), "packages")
    return _list_dependencies(table(packages, member)) if member in packages else None


def _read_pyproject(text: str) -> Wishes:
    project, found = _read_toml(text), list[str]()
    found += strings(table(project, "project").get("dependencies"))
    groups = [
        table(project, "project", "optional-dependencies"),
        table(project, "dependency-groups"),
    ]
    groups.append(table(project, "tool", "pdm", "dev-dependencies"))
    found += [each for group in groups for listed in group.values() for each in strings(listed)]
    wishes = {(match[0], text) for text in found if (match := _NAME.match(text))}
    poetry = table(project, "tool", "poetry")
    tables = [table(poetry, "dependencies"), table(poetry, "dev-dependencies")]
    tables += [table(group, "dependencies") for group in table(poetry, "group").values()]
    return frozenset(wishes) | _read_tables(tables)


def _read_pipfile(text: str) -> Wishes:
    project = _read_toml(text)
    return _read_tables([table(project, "packages"), table(project, "dev-packages")])


def _read_cargo(text: str) -> Wishes:
    project = _read_toml(text)
    places = [project, *table(project, "target").values(), table(project, "workspace")]
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    tables = [table(place, kind) for place in places for kind in kinds]
    renamed = (
        {str(table(about).get("package", name)): about for name, about in each.items()}
        for each in tables
    )
    return _read_tables(renamed)


def _read_composer(text: str) -> Wishes:
    manifest = _read_json(text)
    found = _read_tables([table(manifest, "require"), table(manifest, "require-dev")])
    return frozenset(wish for wish in found if not _WITH_PHP.fullmatch(wish[0]))


def _read_tables(tables: Iterable[Mapping[str, object]]) -> Wishes:
    pairs = (pair for each in tables for pair in each.items() if pair[0] != "python")
    return frozenset(
        (name, json.dumps(wanted, default=str, sort_keys=True)) for name, wanted in pairs
    )


def _find_all(pattern: re.Pattern[str]) -> Callable[[str], Wishes]:
    def read(text: str) -> Wishes:
        return frozenset((match[1], "".join(match[2].split())) for match in pattern.finditer(text))

    return read


def _read_json(text: str) -> dict[str, object]:
    try:
        return table(json.loads(text.removeprefix("\ufeff")))  # as npm does
    except (ValueError, RecursionError):
        return {}


def _read_toml(text: str) -> dict[str, object]:
    try:
        return toml_in(text)
    except ValueError:
        return {}


# --- what lock files hold -------------------------------------------------------------------------


def _names(wish: tuple[str, str], lock: str) -> bool:
    """Return whether a lock file names the package, however its tool writes it."""
    parts = map(re.escape, re.split(r"[-_.]+", wish[0]))
    pattern = rf"(?<![\w-]){'[-_.]+'.join(parts)}(?![\w-])"
    return re.search(pattern, lock, re.IGNORECASE) is not None


def _names_version(wish: tuple[str, str], lock: str) -> bool:
    """Return whether `go.sum` has the checksum of this version of a module."""
    return any(f"{wish[0]} {wish[1]}{end}" in lock for end in (" ", "/go.mod "))


@dataclass(frozen=True)
class _Lock:
    manifest: str
    read: Callable[[str], Wishes]
    records: bool = True
    """Whether it writes down what is asked for, and so changes with every wish."""
    holds: Callable[[tuple[str, str], str], bool] = _names


_LOCKS: Mapping[str, _Lock] = {
    **dict.fromkeys(
        ("package-lock.json", "npm-shrinkwrap.json"), _Lock("package.json", _read_package_json)
    ),
    **dict.fromkeys(
        ("pnpm-lock.yaml", "yarn.lock", "bun.lock"), _Lock("package.json", _read_without_peers)
    ),
    **dict.fromkeys(
        ("uv.lock", "poetry.lock", "pdm.lock"), _Lock("pyproject.toml", _read_pyproject)
    ),
    "Pipfile.lock": _Lock("Pipfile", _read_pipfile),
    "Cargo.lock": _Lock("Cargo.toml", _read_cargo, records=False),
    "go.sum": _Lock("go.mod", _find_all(_GO), records=False, holds=_names_version),
    "composer.lock": _Lock("composer.json", _read_composer),
    "Gemfile.lock": _Lock("Gemfile", _find_all(_GEM)),
    "mix.lock": _Lock("mix.exs", _find_all(_MIX), records=False),
}
