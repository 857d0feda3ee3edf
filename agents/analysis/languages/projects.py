"""Find the projects of a repository: the folders that are installed and checked where they lie."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from agents.analysis.languages.recipe import COVER_ALL, Language
from agents.analysis.repository_files import RepositoryFiles

DEEPEST = 3  # folders above a manifest
MOST_FOLDERS = 24
MOST_READ = 160  # texts of settings
MOST_LOOKED_AT = 400  # folders with a manifest, of one language

NOT_OURS = re.compile(
    r"node_modules|bower_components|vendor|third_party|third-party|external|site-packages|"
    r"deps|testdata|fixtures|fixture|__fixtures__|examples|example|samples|sample|demos|"
    r"docs|doc|templates|template|subprojects|requirements|tests|test|__tests__|spec|dist|"
    r"target"
)
"""Names of folders whose manifests are others' projects, or what tests and readers play with."""
_FETCHED = re.compile(r"node_modules|bower_components|site-packages|vendor|deps|dist|target")


@dataclass(frozen=True)
class Project:
    """A folder that one language's tool installs and checks."""

    language: Language
    files: RepositoryFiles
    """Its own, without those of the language's projects further down."""

    @property
    def folder(self) -> str:
        """Return its folder; empty for the root."""
        return self.files.folder


@dataclass(frozen=True)
class FoundProjects:
    """The projects of a repository, the root's first."""

    projects: tuple[Project, ...]
    left_out: tuple[str, ...] = ()
    """Folders that are too many."""
    passed_over: tuple[str, ...] = ()
    """Folders with manifests whose names say that they are examples, test data or others' code."""


def list_texts_to_read(paths: Iterable[str], languages: Sequence[Language]) -> list[str]:
    """Return the paths whose text says what projects there are, and how they are set up."""
    return sorted(_list_settings(paths, languages), key=_order)[:MOST_READ]


def find_projects(files: RepositoryFiles, languages: Sequence[Language]) -> FoundProjects:
    """Return the projects: every folder with a manifest that no project above takes care of."""
    search = _Search(files, languages)
    found = {each.name: search.list_folders(each) for each in languages}
    folders = sorted({each for some in found.values() for each in some}, key=_order)
    views: dict[tuple[str, tuple[str, ...]], RepositoryFiles] = {}
    projects = []
    for folder in folders[:MOST_FOLDERS]:
        for language in languages:
            if folder in found[language.name]:
                others = tuple(_list_below(folder, found[language.name]))
                if (folder, others) not in views:  # most languages have the same
                    views[folder, others] = files.narrow_to(folder, without=others)
                projects.append(Project(language, views[folder, others]))
    return FoundProjects(
        tuple(projects), tuple(folders[MOST_FOLDERS:]), tuple(_list_passed_over(files, languages))
    )


def _list_passed_over(files: RepositoryFiles, languages: Sequence[Language]) -> list[str]:
    """Return the folders that their names alone keep from being projects, the outermost of each.

    What tools fetch or build needs no word, nor a Makefile, which every manual has.
    """
    kinds = [each.manifests for each in languages if each.covers is not COVER_ALL]
    manifest = re.compile("|".join(f"(?:{kind})" for kind in kinds))
    found: set[str] = set()
    for path in files.paths:
        parts = path.split("/")
        near = len(parts) <= DEEPEST + 1 and path.isprintable()
        hidden = any(part[:1] == "." or _FETCHED.fullmatch(part) for part in parts[:-1])
        if near and not hidden and not _is_looked_at(path) and manifest.fullmatch(parts[-1]):
            at = next(n for n, part in enumerate(parts) if NOT_OURS.fullmatch(part))
            found.add("/".join(parts[: at + 1]))
    return sorted(found, key=_order)


@dataclass
class _Search:
    """The folders with manifests, and which of them another one takes care of."""

    files: RepositoryFiles
    languages: Sequence[Language]
    _views: dict[str, RepositoryFiles] = field(default_factory=dict)
    _near: RepositoryFiles = field(init=False)

    def __post_init__(self) -> None:
        near = frozenset(_list_settings(self.files.paths, self.languages))
        self._near = RepositoryFiles(near, self.files.texts)

    def list_folders(self, language: Language) -> list[str]:
        """Return the folders of the language's projects; the root may be one without manifest."""
        manifest = re.compile(language.manifests)
        named = {posixpath.dirname(p) for p in self._near.paths if manifest.fullmatch(_name(p))}
        looked_at = sorted(named - {""}, key=_order)[:MOST_LOOKED_AT]
        known = [""]
        found = [""]
        for folder in looked_at:
            above = [each for each in known if not each or folder.startswith(f"{each}/")]
            if "" in above and "" not in named:
                above.remove("")
            if not any(self._covers(language, each, folder) for each in above):
                found.append(folder)
            known.append(folder)
        return found

    def _covers(self, language: Language, above: str, folder: str) -> bool:
        if above not in self._views:
            self._views[above] = self._near.narrow_to(above)
        return language.covers(self._views[above], folder[len(above) :].lstrip("/"))


def _list_below(folder: str, folders: Iterable[str]) -> list[str]:
    start = f"{folder}/" if folder else ""
    return [each for each in folders if each != folder and each.startswith(start)]


def _list_settings(paths: Iterable[str], languages: Sequence[Language]) -> Iterator[str]:
    """Yield the manifests of all languages, and the other files that they look at."""
    kinds = [kind for each in languages for kind in (each.manifests, each.reads) if kind]
    wanted = re.compile("|".join(f"(?:{kind})" for kind in kinds))
    yield from (path for path in paths if wanted.fullmatch(_name(path)) and _is_looked_at(path))


def _is_looked_at(path: str) -> bool:
    """Return whether a manifest there would be the repository's own, and near enough."""
    parts = path.split("/")[:-1]
    return (
        len(parts) <= DEEPEST
        and not any(part[:1] == "." or NOT_OURS.fullmatch(part) for part in parts)
        and path.isprintable()
    )


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _order(path: str) -> tuple[int, str]:
    return path.count("/") + bool(path), path
