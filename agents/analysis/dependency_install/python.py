"""Install recipes of Python: the lock file's own tool, else pip."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from agents.analysis.dependency_install.recipe import TOOLS, VENV, InstallRecipe
from agents.analysis.repository_files import RepositoryFiles, strings, table

MAKE_VENV = f"python3 -m venv {VENV}"
CAN_MAKE_VENV = "python3 -c 'import ensurepip, venv'"
NO_PYTHON = (
    "a Python that makes virtual environments (`python3 -m venv`), which sandboxes here do not "
    "have: install your system's package for it, such as python3-venv, or put such a Python into "
    "FETTLE_TOOLCHAINS"
)

MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", ".python-version")
REQUIREMENTS = (
    r"(requirements|constraints)([-_.](base|main|dev|develop|test|tests|testing|ci|all))?\.txt"
    r"|(dev|test|tests|testing|ci)[-_]requirements\.txt"
    r"|requirements/(requirements|base|main|dev|develop|test|tests|testing|ci|all)\.txt"
)
FOR_TESTS = ("test", "tests", "testing", "dev", "develop", "development", "all")

POETRY = "poetry install --no-interaction"
LOCKED = {  # lock file: tool, commands
    "uv.lock": ("uv", ("uv sync --frozen --all-extras --all-groups || uv sync --frozen",)),
    "poetry.lock": (
        "poetry",
        (
            MAKE_VENV,
            f"{POETRY} --all-extras --all-groups || {POETRY}",
        ),
    ),
    "pdm.lock": (
        "pdm",
        (MAKE_VENV, "pdm install --frozen-lockfile -G :all || pdm install --frozen-lockfile"),
    ),
    "Pipfile.lock": ("pipenv", (MAKE_VENV, "pipenv sync --dev")),
}


def python(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to install what a Python repository needs."""
    for lock, (tool, commands) in LOCKED.items():
        if lock in files.paths:
            decided_by = (lock, *(p for p in (*MANIFESTS, "Pipfile") if p in files.paths))
            return _make_locked_recipe(tool, commands, decided_by, files)
    return _with_pip(files)


def package(files: RepositoryFiles) -> str:
    """Return the name of one package that the repository depends on, or nothing."""
    project = files.toml("pyproject.toml")
    wanted = [
        *strings(table(project, "project").get("dependencies")),
        *(name for name in table(project, "tool", "poetry", "dependencies") if name != "python"),
        *strings(table(project, "build-system").get("requires")),
    ]
    names = (re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", each) for each in wanted)
    return next((name[0] for name in names if name), "")


def _make_locked_recipe(
    tool: str, commands: tuple[str, ...], decided_by: tuple[str, ...], files: RepositoryFiles
) -> InstallRecipe:
    kind = f"Python ({tool})"
    fetched = InstallRecipe(
        kind,
        (f"python3 -m venv {TOOLS}", f"{TOOLS}/bin/pip install --quiet {tool}", *commands),
        CAN_MAKE_VENV,
        f"{kind} needs {tool}, or to fetch it {NO_PYTHON}",
        dict.fromkeys((tool, "pip"), package(files)),
        decided_by,
        locked=True,
    )
    return replace(fetched, commands=commands, available=f"command -v {tool}", instead=fetched)


def _with_pip(files: RepositoryFiles) -> InstallRecipe | None:
    installs = [*_installs(files)]
    if not installs:
        return None
    if files.any_named(r"test_.*\.py|.*_test\.py"):
        installs.append("python3 -c 'import pytest' 2>/dev/null || pip install pytest")
    return InstallRecipe(
        "Python (pip)",
        (MAKE_VENV, *installs),
        CAN_MAKE_VENV,
        f"Python (pip) needs {NO_PYTHON}",
        {"pip": package(files)},
        (
            *files.match_paths(rf"{REQUIREMENTS}|requirements/[^/]*|constraints[^/]*"),
            *_present(files),
        ),
    )


def _installs(files: RepositoryFiles) -> Iterator[str]:
    for path in files.match_paths(REQUIREMENTS):
        if not path.startswith("constraints"):
            yield f"pip install -r {path}"
    project = files.toml("pyproject.toml")
    extras = _extras(files, project)
    if "setup.py" in files.paths or "build-system" in project or _declares(files):
        # Editable, so that runs import their own files and not a copy of those of today.
        target = f".[{','.join(extras)}]" if extras else "."
        yield f"pip install -e {shlex.quote(target)}"
    else:
        wanted = strings(table(project, "project").get("dependencies"))
        for extra in extras:
            wanted += strings(table(project, "project", "optional-dependencies").get(extra))
        yield from _install_all(wanted)
    groups = table(project, "dependency-groups")
    yield from _install_all([w for name in FOR_TESTS for w in _group(groups, name, set())])


def _install_all(wanted: list[str]) -> Iterator[str]:
    named = dict.fromkeys(each for each in wanted if not each.startswith("-"))  # no options
    if named:
        yield f"pip install {' '.join(map(shlex.quote, named))}"


def _group(groups: dict[str, object], name: str, seen: set[str]) -> Iterator[str]:
    """Yield what a dependency group asks for, with the groups that it includes."""
    items = groups.get(name)
    if name in seen or not isinstance(items, list):
        return
    seen.add(name)
    for item in items:
        if isinstance(item, str):
            yield item
        elif isinstance(included := table(item).get("include-group"), str):
            yield from _group(groups, included, seen)


def _extras(files: RepositoryFiles, project: dict[str, object]) -> list[str]:
    declared = {*table(project, "project", "optional-dependencies")}
    declared |= {*table(project, "tool", "poetry", "extras")}
    declared |= {*_setup_cfg(files, "options.extras_require")}
    return [name for name in FOR_TESTS if name in declared]


def _declares(files: RepositoryFiles) -> bool:
    return bool(_setup_cfg(files, "metadata") or _setup_cfg(files, "options"))


def _setup_cfg(files: RepositoryFiles, section: str) -> list[str]:
    """Return the keys of a section of setup.cfg."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(files.texts.get("setup.cfg", ""))
    except configparser.Error:
        return []
    return parser.options(section) if parser.has_section(section) else []


def _present(files: RepositoryFiles) -> list[str]:
    return [path for path in MANIFESTS if path in files.paths]
