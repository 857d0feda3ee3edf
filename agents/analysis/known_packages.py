"""The packages that a repository's own manifests and lock files take from package indexes.

Read from the default branch alone: what a run writes, and what an issue says, makes no package
known. A name that some manifest takes from elsewhere (a folder, a repository, an address) is not
known either: an index may hold another package under that name.
"""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agents.analysis.languages.projects import NOT_OURS
from agents.analysis.repository_files import strings, table
from agents.text.toml import toml_in

LONGEST = 4_000_000  # bytes of a lock file
LONGEST_INI = 200_000
MOST_FILES = 60
DEEPEST = 3

RUNNERS = {
    "pip": re.compile(
        r"coverage|hypothesis|nose2|nox|tox|pytest(-(asyncio|cov|mock|timeout|xdist))?"
    ),
    "npm": re.compile(r"ava|c8|jasmine|jest|mocha|nyc|tap|tape|vitest"),
}
"""Test runners that need no manifest to be known, where the repository is of their language."""

_REQUIREMENTS = re.compile(
    r"[\w.-]{0,80}(?:requirements|constraints)[\w.-]{0,80}\.(?:txt|in)|requirements/[\w.-]+\.(?:txt|in)"
)
_READ = re.compile(
    r"pyproject\.toml|setup\.cfg|Pipfile|(?:uv|poetry|pdm)\.lock|Pipfile\.lock|tox\.ini"
    r"|package\.json|package-lock\.json|npm-shrinkwrap\.json"
)
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]{0,99})\s*(?:\[[^\]]*\])?\s*(.*)", re.DOTALL)
_SPECIFIER = re.compile(r"(?:[~<>=!(;#\\,]|$)")
_NPM_NAME = re.compile(r"(?:@[a-z0-9~][\w.~-]{0,100}/)?[a-z0-9~][\w.~-]{0,100}")
_ELSEWHERE = re.compile(r"(?:git|file|link|portal|workspace|https?|github|npm|patch)[:+]|[\w.-]+/")
_INI_KEYS = ("install_requires", "tests_require", "setup_requires", "deps")
_OTHER_INDEX = re.compile(r"\s*(?:--(?:extra-)?index-url|-i|--find-links|-f)\b")
_KINDS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


@dataclass(frozen=True)
class KnownPackages:
    """What may be installed without a question, and the commit that says so."""

    commit: str = ""
    names: frozenset[tuple[str, str]] = frozenset()
    """Tool, `pip` or `npm`, and a package's name as its index writes it."""
    elsewhere: frozenset[str] = frozenset()
    """Names that stand for something else than what an index has under them."""
    languages: frozenset[str] = frozenset()
    """The tools whose manifests there are."""
    folders: frozenset[str] = frozenset()
    """Folders whose `package.json` leads to packages of indexes alone, without a workspace."""

    def holds(self, tool: str, name: str) -> bool:
        """Return whether the package is known to the repository."""
        plain = normalize(tool, name)
        runs_tests = tool in self.languages and RUNNERS[tool].fullmatch(plain)
        return (tool, plain) in self.names or bool(runs_tests and plain not in self.elsewhere)


@dataclass
class _Names:
    """Names of one tool, and those of them that come from elsewhere."""

    tool: str
    named: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)

    def add(self, name: object, *, elsewhere: bool = False) -> None:
        """Take a name in."""
        if isinstance(name, str):
            (self.elsewhere if elsewhere else self.named).add(normalize(self.tool, name))


def normalize(tool: str, name: str) -> str:
    """Return the name as the tool compares names: PEP 503 for Python, as it stands for npm."""
    return re.sub(r"[-_.]+", "-", name).lower() if tool == "pip" else name


def list_known_paths(paths: Iterable[str]) -> list[str]:
    """Return the files that say which packages the repository depends on."""
    found = (path for path in paths if _is_own(path) and _names_packages(path))
    return sorted(found, key=lambda path: (path.count("/"), path))[:MOST_FILES]


def read_known_packages(commit: str, texts: dict[str, str]) -> KnownPackages:
    """Return the packages that these files name."""
    pip, npm = _Names("pip"), _Names("npm")
    folders = set()
    for path, text in texts.items():
        folder, _, name = path.rpartition("/")
        if name in ("package.json", "package-lock.json", "npm-shrinkwrap.json"):
            document = _read_json(text)
            plain = _read_manifest(document, npm) if name == "package.json" else True
            if name != "package.json":
                _read_npm_lock(document, npm)
            elif plain:
                folders.add(folder)
        else:
            _read_python(name, path, text, pip)
    workspaces = any(path.endswith("pnpm-workspace.yaml") for path in texts)
    return KnownPackages(
        commit,
        names=frozenset(
            (each.tool, name) for each in (pip, npm) for name in each.named - each.elsewhere
        ),
        elsewhere=frozenset(pip.elsewhere | npm.elsewhere),
        languages=frozenset(each.tool for each in (pip, npm) if each.named | each.elsewhere),
        folders=frozenset() if workspaces else frozenset(folders),
    )


def _is_own(path: str) -> bool:
    parts = path.split("/")[:-1]
    own = not any(part[:1] == "." or _is_others(part) for part in parts)
    return len(parts) <= DEEPEST and own


def _is_others(part: str) -> bool:
    return part not in ("tests", "test", "docs", "requirements") and bool(NOT_OURS.fullmatch(part))


def _names_packages(path: str) -> bool:
    name = path.rpartition("/")[2]
    listed = _REQUIREMENTS.fullmatch(name) or re.search(r"(?:^|/)requirements/[\w.-]+\.txt$", path)
    return bool(_READ.fullmatch(name) or listed)


# --- Python ---------------------------------------------------------------------------------------


def _read_python(name: str, path: str, text: str, names: _Names) -> None:
    if name.endswith((".txt", ".in")):
        lines = text.splitlines()
        _add_requirements(lines, names, elsewhere=any(map(_OTHER_INDEX.match, lines)))
    elif name == "Pipfile.lock":
        lock = _read_json(text)
        for section in ("default", "develop"):
            _add_table(table(lock, section), names)
    elif name in ("setup.cfg", "tox.ini"):
        _add_requirements(_list_ini_lines(text), names)
    elif name.endswith(".lock"):
        for each in _list_tables(_read_toml(text).get("package")):
            names.add(each.get("name"), elsewhere=_is_from_elsewhere(each))
    elif path:
        _read_pyproject(_read_toml(text), names)


def _read_pyproject(document: dict[str, Any], names: _Names) -> None:
    """Take in what `pyproject.toml` or `Pipfile` name."""
    project = table(document, "project")
    names.add(project.get("name"), elsewhere=True)
    names.add(table(document, "tool", "poetry").get("name"), elsewhere=True)
    _add_requirements(strings(project.get("dependencies")), names)
    lists = (*table(project, "optional-dependencies").values(),)
    lists += (*table(document, "dependency-groups").values(),)
    lists += (table(document, "tool", "uv").get("dev-dependencies"),)
    for each in lists:
        _add_requirements(strings(each), names)
    for source in table(document, "tool", "uv", "sources"):
        names.add(source, elsewhere=True)
    poetry = table(document, "tool", "poetry")
    groups = [table(each, "dependencies") for each in table(poetry, "group").values()]
    pipfile = [table(document, "packages"), table(document, "dev-packages")]
    for each in (
        table(poetry, "dependencies"),
        table(poetry, "dev-dependencies"),
        *groups,
        *pipfile,
    ):
        _add_table(each, names)


def _add_requirements(lines: Iterable[str], names: _Names, *, elsewhere: bool = False) -> None:
    for line in lines:
        found = _NAME.fullmatch(line[:500])
        if found:
            names.add(found[1], elsewhere=elsewhere or not _SPECIFIER.match(found[2]))


def _add_table(packages: dict[str, object], names: _Names) -> None:
    for name, wanted in packages.items():
        foreign = table(wanted).keys() & {
            "git",
            "path",
            "url",
            "file",
            "ref",
            "editable",
            "source",
            "index",
        }
        names.add(name, elsewhere=bool(foreign))


def _is_from_elsewhere(package: dict[str, Any]) -> bool:
    source = table(package, "source")
    kinds = source.keys() & {"git", "url", "path", "editable", "virtual", "directory"}
    if "type" in source:  # Poetry's lock
        return True
    return bool(kinds)


def _list_ini_lines(text: str) -> Iterator[str]:
    """Yield the requirements that setup.cfg and tox.ini list."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text if len(text) <= LONGEST_INI else "")
    except configparser.Error:
        return
    for name in parser.sections():
        keys = parser.options(name) if name == "options.extras_require" else _INI_KEYS
        for key in keys:
            yield from parser.get(name, key, fallback="").splitlines()


# --- npm ------------------------------------------------------------------------------------------


def _read_manifest(document: dict[str, Any], names: _Names) -> bool:
    """Take in what a `package.json` names; return whether all of it comes from an index."""
    names.add(document.get("name"), elsewhere=True)
    plain = "workspaces" not in document
    for kind in _KINDS:
        for name, wanted in table(document, kind).items():
            elsewhere = not isinstance(wanted, str) or bool(_ELSEWHERE.match(wanted))
            plain = plain and not elsewhere
            names.add(name, elsewhere=elsewhere or not _NPM_NAME.fullmatch(name))
    return plain


def _read_npm_lock(document: dict[str, Any], names: _Names) -> None:
    for path, about in table(document, "packages").items():
        name = path.rpartition("node_modules/")[2]
        resolved = table(about).get("resolved")
        foreign = "link" in table(about) or "node_modules/" not in path
        if isinstance(resolved, str) and resolved.startswith(("git", "file")):
            foreign = True
        if name and name == str(table(about).get("name", name)):
            names.add(name, elsewhere=foreign)


# --- documents ------------------------------------------------------------------------------------


def _read_json(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text) if len(text) <= LONGEST else {}
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return toml_in(text) if len(text) <= LONGEST else {}
    except ValueError:
        return {}


def _list_tables(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
