"""The packages that a repository's own manifests and lock files take from package indexes.

Read from the default branch alone: what a run writes, and what an issue says, makes no package
known. A name that some manifest takes from elsewhere (a folder, a repository, an address) is not
known either: an index may hold another package under that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agents.analysis.languages.projects import NOT_OURS
from agents.analysis.python_packages import PackageNames, normalize, read_json, read_python
from agents.analysis.repository_files import table

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
    r"|package\.json|package-lock\.json|npm-shrinkwrap\.json|pnpm-workspace\.yaml"
)
_NPM_NAME = re.compile(r"(?:@[a-z0-9~][\w.~-]{0,100}/)?[a-z0-9~][\w.~-]{0,100}")
_ELSEWHERE = re.compile(r"(?:git|file|link|portal|workspace|https?|github|npm|patch)[:+]|[\w.-]+/")
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


def list_known_paths(paths: Iterable[str]) -> list[str]:
    """Return the files that say which packages the repository depends on."""
    found = (path for path in paths if _is_own(path) and _names_packages(path))
    return sorted(found, key=lambda path: (path.count("/"), path))[:MOST_FILES]


def read_known_packages(commit: str, texts: dict[str, str]) -> KnownPackages:
    """Return the packages that these files name."""
    pip, npm = PackageNames("pip"), PackageNames("npm")
    folders = set()
    for path, text in texts.items():
        folder, _, name = path.rpartition("/")
        if name in ("package.json", "package-lock.json", "npm-shrinkwrap.json"):
            document = read_json(text)
            plain = _read_manifest(document, npm) if name == "package.json" else True
            if name != "package.json":
                _read_npm_lock(document, npm)
            elif plain:
                folders.add(folder)
        elif name != "pnpm-workspace.yaml":
            read_python(name, path, text, pip)
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


# --- npm ------------------------------------------------------------------------------------------


def _read_manifest(document: dict[str, Any], names: PackageNames) -> bool:
    """Take in what a `package.json` names; return whether all of it comes from an index."""
    names.add(document.get("name"), elsewhere=True)
    plain = "workspaces" not in document
    for kind in _KINDS:
        for name, wanted in table(document, kind).items():
            elsewhere = not isinstance(wanted, str) or bool(_ELSEWHERE.match(wanted))
            plain = plain and not elsewhere
            names.add(name, elsewhere=elsewhere or not _NPM_NAME.fullmatch(name))
    return plain


def _read_npm_lock(document: dict[str, Any], names: PackageNames) -> None:
    for path, about in table(document, "packages").items():
        name = path.rpartition("node_modules/")[2]
        resolved = table(about).get("resolved")
        foreign = "link" in table(about) or "node_modules/" not in path
        if isinstance(resolved, str) and resolved.startswith(("git", "file")):
            foreign = True
        if name and name == str(table(about).get("name", name)):
            names.add(name, elsewhere=foreign)
