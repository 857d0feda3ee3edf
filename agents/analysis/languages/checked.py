"""Tell which folders that a change touches no check looks at.

What counts are the folders with a manifest, wherever they lie: with one, maintainers say that it
is a project. Documentation, fixtures, templates and others' code with manifests are no projects of
theirs: they count as the folder around them, whose checks are all that maintainers run when these
change. So do examples, unless they bring checks of their own, which nobody would write in vain.
A file with no manifest around it belongs to no project, and is held against nobody.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from agents.analysis.languages.javascript import SCRIPTS, list_workspaces, runs_and_ends
from agents.analysis.languages.member_scripts import reaches_members
from agents.analysis.languages.projects import NOT_OURS
from agents.analysis.languages.recipe import COVER_ALL, Language
from agents.analysis.languages.registry import LANGUAGES, find_folder
from agents.analysis.repository_files import RepositoryFiles, table

MOST_READ = 160  # manifests of touched folders

_MANIFESTS = {"Python": r"pyproject\.toml|setup\.py|Pipfile"}
_OTHERS = {
    "haskell": r".+\.cabal|stack\.yaml",
    "swift": r"Package\.swift",
    "dart": r"pubspec\.yaml",
    "zig": r"build\.zig",
    "sbt": r"build\.sbt",
    "lua": r".+\.rockspec",
    "perl": r"Makefile\.PL|Build\.PL|cpanfile",
    "": r"dune-project|rebar\.config|project\.clj|deps\.edn|.+\.nimble|shard\.yml|gleam\.toml"
    r"|foundry\.toml|Project\.toml",
}
"""Manifests of languages that Fettle sets nothing up for, by the first word of a check's name."""
_REQUIREMENTS = "requirements.txt"  # beside code they make a project, as of a service
_AIDS = re.compile(r"(?:unit|e2e|integration)?-?tests?|testing|scripts?|tools?|ci|hack|bin|build")
"""Folders whose requirements are for whoever works on the project."""
_LOCKS = re.compile(
    r".+\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|bun\.lockb|go\.sum"
    r"|requirements[\w.-]*\.txt"
)
_NO_CODE = re.compile(
    r".*\.(?:md|mdx|rst|txt|adoc|ya?ml|toml|json5?|jsonc|ini|cfg|conf|properties|csv|svg|png|jpe?g"
    r"|gif|ico|webp|pdf|po|pot|mo|example|sample|editorconfig)|\..*|LICEN[CS]E.*|NOTICE|AUTHORS"
    r"|CODEOWNERS|CHANGELOG.*|README.*|Makefile|Dockerfile.*|.*\.(?:config|rc)\.[cm]?[jt]s",
    re.IGNORECASE,
)
_DOCUMENTS = re.compile(r"docs?|\..+")
_OWN_IF_CHECKED = re.compile(r"examples?|samples?|demos|external|subprojects|deps")
_FOR_ALL = re.compile(
    r"(?:^|&& )(?:\w+=\S+ )*(?:make|just|task|tox|nox|pre-commit|cmake|meson|bazel)\b"
)
"""Tasks and builds are the maintainers' own way to check all that lies below."""
_KINDS = {
    "npm": "JavaScript",
    "go": "Go",
    "cargo": "Rust",
    "maven": "Maven",
    "gradle": "Gradle",
    "ruby": "Ruby",
    "php": "PHP",
    "dotnet": ".NET",
    "mix": "Elixir",
    **dict.fromkeys(("tests", "lint", "types"), "Python"),
}
"""The first word of a check's name: the language whose projects it looks at."""
_FAMILIES = {
    "JavaScript": "script",
    "Maven": "jvm",
    "Gradle": "jvm",
    ".NET": "dotnet",
    **{name: name.lower() for name in ("Python", "Go", "Rust", "Ruby", "PHP", "Elixir")},
}
"""By a language's name what its files are called as tests, by `find_language`."""
_SPLIT = ("PHP", "Ruby")
"""Languages whose packages are cut out of one repository: without tests of their own, their tests
are those of the whole."""


@dataclass(frozen=True)
class NamedCommand:
    """A check that ran."""

    name: str
    command: str


def name_language(check: str) -> str:
    """Return the language whose projects a check of that name looks at; empty for others."""
    return _KINDS.get(check.split(maxsplit=1)[0] if check else "", "")


def list_families(checks: Sequence[NamedCommand]) -> frozenset[str] | None:
    """Return the families of languages whose tests these checks run; None: maybe all."""
    families = [_name_family(each.name) for each in checks]
    if not all(families) or any(_FOR_ALL.search(each.command) for each in checks):
        return None
    return frozenset(families)


def _name_family(check: str) -> str:
    first = check.split(maxsplit=1)[0]
    return _FAMILIES.get(name_language(check), first if first in ("shell", "perl") else "")


def list_touched(changed: Iterable[str], files: RepositoryFiles) -> list[str]:
    """Return the project folders that these files belong to, but for prose and settings."""
    projects = _find_manifests(files)
    found = {_find_nearest(path, projects) for path in changed if is_code(path)}
    return sorted(each for each in found if each is not None)


def list_manifests(folders: Sequence[str], files: RepositoryFiles) -> list[str]:
    """Return the manifests of these folders."""
    projects = _find_manifests(files)
    return [path for folder in folders for path in projects.get(folder, ())][:MOST_READ]


def find_unchecked(
    touched: Iterable[str], checks: Sequence[NamedCommand], files: RepositoryFiles
) -> tuple[str, ...]:
    """Return the folders among these that no check looks at: neither there, nor from above."""
    found = [_Folder(each, files.narrow_to(each), files) for each in touched]
    return tuple(
        each.path for each in found if each.is_project() and not any(map(each.is_checked, checks))
    )


def is_code(path: str) -> bool:
    """Return whether a file is code, or says what code needs: neither prose nor settings."""
    *folders, name = path.split("/")
    if any(map(_DOCUMENTS.fullmatch, folders)):
        return False
    manifest = any(re.fullmatch(each.manifests, name) for each in LANGUAGES)
    return bool(manifest or _LOCKS.fullmatch(name)) or not _NO_CODE.fullmatch(name)


def _find_manifests(files: RepositoryFiles) -> dict[str, list[str]]:
    kinds = [
        _MANIFESTS.get(each.name, each.manifests)
        for each in LANGUAGES
        if each.covers is not COVER_ALL
    ]
    manifest = re.compile("|".join(f"(?:{kind})" for kind in (*kinds, *_OTHERS.values())))
    found: dict[str, list[str]] = {}
    for path in files.paths:
        folder, _, name = path.rpartition("/")
        if manifest.fullmatch(name) and _may_be_project(folder):
            found.setdefault(folder, []).append(path)
    for folder in {posixpath.dirname(path) for path in files.paths if path.endswith(".py")}:
        path = f"{folder}/{_REQUIREMENTS}"
        if path in files.paths and _may_be_project(folder) and not _is_aid(folder):
            found.setdefault(folder, []).append(path)
    return found


def _is_aid(folder: str) -> bool:
    return any(map(_AIDS.fullmatch, folder.split("/")))


def _may_be_project(folder: str) -> bool:
    parts = folder.split("/") if folder else []
    return not any(
        part[:1] == "."
        or "{{" in part
        or (NOT_OURS.fullmatch(part) and not _OWN_IF_CHECKED.fullmatch(part))
        for part in parts
    )


def _find_nearest(path: str, folders: Container[str]) -> str | None:
    folder = posixpath.dirname(path)
    while folder and folder not in folders:
        folder = posixpath.dirname(folder)
    return folder if folder in folders else None


@dataclass(frozen=True)
class _Folder:
    """A folder with manifests."""

    path: str
    own: RepositoryFiles
    """Its files, as if it was the root."""
    all: RepositoryFiles

    @property
    def languages(self) -> list[Language]:
        """Return those that have a manifest there."""
        names = [path for path in self.own.paths if "/" not in path]
        return [e for e in LANGUAGES if any(re.fullmatch(e.manifests, name) for name in names)]

    def is_project(self) -> bool:
        """Return whether it is one of the maintainers'; examples are where they are checked."""
        example = any(map(_OWN_IF_CHECKED.fullmatch, self.path.split("/")))
        return not example or any(each.checks(self.own) for each in self.languages)

    def is_checked(self, check: NamedCommand) -> bool:
        """Return whether the check looks at what lies there."""
        place = find_folder(check.command)
        if place == self.path:
            return True
        if place and not self.path.startswith(f"{place}/"):
            return False
        if _FOR_ALL.search(check.command):
            return True
        other = _OTHERS[name] if (name := check.name.partition(" ")[0]) in _OTHERS else ""
        if name and other and any(re.fullmatch(other, path) for path in self.own.paths):
            return True
        kind = name_language(check.name)
        language = next((each for each in self.languages if each.name == kind), None)
        return language is not None and self._is_below(language, place, check.command)

    def _is_below(self, language: Language, place: str, command: str) -> bool:
        """Return whether a check of its language further up looks at it."""
        above, below = self.all.narrow_to(place), self.path[len(place) :].lstrip("/")
        if language.name == "JavaScript":
            return _reaches(command, above, below)
        if language.name == "Python":
            return _reads(command, above, below)
        if language.name in _SPLIT:
            return not language.checks(self.own)
        return _covers(language, above, below)


def _covers(language: Language, above: RepositoryFiles, below: str) -> bool:
    """Return whether a project takes care of that folder, be it as a member of a member."""
    if language.covers(above, below):
        return True
    between = posixpath.dirname(below)
    while between and not language.covers(above.narrow_to(between), below[len(between) + 1 :]):
        between = posixpath.dirname(between)
    return bool(between) and _covers(language, above, between)


def _reaches(command: str, above: RepositoryFiles, below: str) -> bool:
    """Return whether a script looks at that folder; where each has its own, it has to have one."""
    own = table(above.json(f"{below}/package.json"), "scripts")
    asking = any(runs_and_ends(own.get(each)) for each in SCRIPTS)
    scripts = {**table(above.json("package.json"), "scripts"), "": command}
    patterns = [*list_workspaces(above), below]
    return reaches_members("", scripts, patterns, asking=asking)


def _reads(command: str, above: RepositoryFiles, below: str) -> bool:
    """Return whether a tool of Python, which looks everywhere below, is not kept from it."""
    words = shlex.split(command.rsplit(" && ", maxsplit=1)[-1])
    named = {posixpath.normpath(word) for word in words if not word.startswith("-")}
    folders = {word for word in named if any(p.startswith(f"{word}/") for p in above.paths)}
    if any(word == f"--ignore={below}" for word in words):
        return False
    return not folders or any(f"{below}/".startswith(f"{each}/") for each in folders)
