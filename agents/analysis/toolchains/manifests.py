"""Readers of what manifests say about the tools that build them: floors, engines, releases."""

from __future__ import annotations

import configparser
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from agents.analysis.repository_files import RepositoryFiles, table
from agents.analysis.toolchains.version_files import wish_for
from agents.analysis.toolchains.version_range import (
    ANY,
    VersionRange,
    at_least,
    name_version,
    npm_range,
    python_range,
)
from agents.analysis.toolchains.wish import ToolWish, Wishes

_READ = 200_000  # characters of a manifest that is searched for a pattern
_CHOSEN_INSTALLER = re.compile(r"(pnpm|yarn)@(\d{1,3}\.\d{1,4}\.\d{1,4})(?:[+-].{0,300})?")
_SETUP_PY = re.compile(r"""python_requires\s{0,9}=\s{0,9}["']([^"'\n]{1,200})["']""")
_GO = re.compile(r"^go[ \t]{1,9}(\d+(?:\.\d+){0,2})[ \t\r]*(?://.*)?$", re.MULTILINE)
_GO_TOOLCHAIN = re.compile(
    r"^toolchain[ \t]{1,9}go(\d+(?:\.\d+){1,2})[ \t\r]*(?://.*)?$", re.MULTILINE
)
_POM = re.compile(
    r"<(maven\.compiler\.release|java\.version|maven\.compiler\.target|maven\.compiler\.source"
    r"|release)>\s{0,99}(?:1\.)?(\d{1,2})\s{0,99}</"
)
_GRADLE_EXACT = re.compile(r"(?:JavaLanguageVersion\.of|jvmToolchain)\(\s{0,9}(\d{1,2})\s{0,9}\)")
_GRADLE_LEAST = re.compile(
    r"(?:source|target)Compatibility\s{0,9}=?\s{0,9}[\"']?"
    r"(?:JavaVersion\.VERSION_)?(?:1[._])?(\d{1,2})\b"
)
_GEMFILE = re.compile(r"""^[ \t]{0,40}ruby[ \t(]{1,9}["']([^"'\n]{1,80})["']""", re.MULTILINE)


def read_manifest(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    """Add what a manifest asks for."""
    _READERS[path.rsplit("/", 1)[-1]](path, files, wishes)


def _pyproject(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    project = files.toml(path)
    said = table(project, "project").get("requires-python")
    if said is None:
        said = table(project, "tool", "poetry", "dependencies").get("python")
    if isinstance(said, str):
        wishes.add("python", python_range(said), path, text=said)
    else:
        wishes.add("python", ANY, path)


def _setup_cfg(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(files.texts.get(path, "")[:_READ])
        said = parser.get("options", "python_requires", fallback="")
    except configparser.Error:
        return
    if said:
        wishes.add("python", python_range(said), path, text=said)


def _setup_py(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    found = _SETUP_PY.search(files.texts.get(path, "")[:_READ])
    wishes.add(
        "python", python_range(found[1]) if found else ANY, path, text=found[1] if found else ""
    )


def _pipfile(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    requires = table(files.toml(path), "requires")
    said = requires.get("python_full_version", requires.get("python_version"))
    if isinstance(said, str):
        wishes.add("python", name_version(said), path, text=said)


def _package_json(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    """Read engines, Volta's pins and the package manager.

    https://docs.npmjs.com/cli/configuring-npm/package-json#engines
    https://nodejs.org/api/packages.html#packagemanager
    """
    document = files.json(path)
    pinned, said = table(document, "volta").get("node"), table(document, "engines").get("node")
    if isinstance(pinned, str):
        wishes.add("node", npm_range(pinned), path, text=pinned)
    if isinstance(said, str):
        wishes.add("node", npm_range(said), path, text=said)
    elif not isinstance(pinned, str):
        wishes.add("node", ANY, path)
    installer = document.get("packageManager")
    if isinstance(installer, str) and (found := _CHOSEN_INSTALLER.fullmatch(installer)):
        wishes.add(found[1], name_version(found[2]), path)


def _go_mod(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    """Read the least version, and the suggested one.

    https://go.dev/doc/toolchain
    """
    text = files.texts.get(path, "")[:_READ]
    least = _GO.search(text)
    wanted = at_least(least[1]) if least else ANY
    suggested = _GO_TOOLCHAIN.search(text)
    floor = at_least(suggested[1]) if suggested else None
    if floor is not None and wanted is not None:
        wishes.found.append(ToolWish("go", floor, path, near=wanted))
    else:
        wishes.add("go", wanted, path)


def _pom(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    """Read the release that the compiler is told: every later JDK can make it, too."""
    found = [int(each[2]) for each in _POM.finditer(files.texts.get(path, "")[:_READ])]
    wishes.add("java", at_least(str(max(found))) if found else ANY, path)


def _gradle(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    text = files.texts.get(path, "")[:_READ]
    if exact := _GRADLE_EXACT.search(text):
        wishes.add("java", wish_for("java", exact[1]), path)
    elif least := _GRADLE_LEAST.search(text):
        wishes.add("java", at_least(least[1]), path)
    else:
        wishes.add("java", ANY, path)


def _cargo(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    manifest = files.toml(path)
    said = table(manifest, "package").get("rust-version")
    if not isinstance(said, str):
        said = table(manifest, "workspace", "package").get("rust-version")
    floor = at_least(said) if isinstance(said, str) else ANY
    wishes.add("rust", floor, path, text=said if isinstance(said, str) else "")


def _gemfile(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    found = _GEMFILE.search(files.texts.get(path, "")[:_READ])
    wishes.add("ruby", _gem_range(found[1]) if found else ANY, path, text=found[1] if found else "")


def _gem_range(text: str) -> VersionRange | None:
    """Return a range as RubyGems writes it; `~>` is Python's `~=`, which has two numbers or more.

    https://guides.rubygems.org/patterns/#pessimistic-version-constraint
    """
    plain = name_version(text)
    if plain is not None:
        return plain
    spec = re.sub(r"~>\s*(\d+)$", r"==\1.*", text.strip())
    made = python_range(re.sub(r"^=\s*", "==", spec.replace("~>", "~=")))
    return made and replace(made, text=text)


_READERS: Mapping[str, Callable[[str, RepositoryFiles, Wishes], None]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "setup.py": _setup_py,
    "Pipfile": _pipfile,
    "package.json": _package_json,
    "go.mod": _go_mod,
    "pom.xml": _pom,
    "build.gradle": _gradle,
    "build.gradle.kts": _gradle,
    "Cargo.toml": _cargo,
    "Gemfile": _gemfile,
}
NAMES = frozenset(_READERS)
"""The manifests that are read."""
