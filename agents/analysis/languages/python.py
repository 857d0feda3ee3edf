"""Python: the lock file's own tool, else pip, into a virtual environment of each project."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agents.analysis.languages.python_needs import (
    FOR_TESTS,
    declares_project,
    find_extras,
    list_needs,
    list_own_needs,
    list_requirement_files,
    name_package,
    name_project,
)
from agents.analysis.languages.recipe import (
    TOOLS,
    VENV,
    InstallRecipe,
    Language,
    SuggestedCheck,
    suggest,
)
from agents.analysis.languages.workspaces import is_member
from agents.analysis.repository_files import RepositoryFiles, strings, table

MAKE_VENV = f"python3 -m venv {VENV}"
CAN_MAKE_VENV = "python3 -c 'import ensurepip, venv'"
NO_PYTHON = (
    "a Python that makes virtual environments (`python3 -m venv`), which sandboxes here do not "
    "have: install your system's package for it, such as python3-venv, or put such a Python into "
    "FETTLE_TOOLCHAINS"
)
PIP_AND_UV = ("pip>=25", "uv>=0.9")
"""What Fettle fetches first for itself."""
_FIND_PIP = """\
import ensurepip, glob, sysconfig
folder = sysconfig.get_config_var("WHEEL_PKG_DIR") or f"{ensurepip.__path__[0]}/_bundled"
print(*glob.glob(f"{folder}/pip-*.whl"))
"""
INSTALL_PIP_AND_UV = f"""\
python3 -m venv --clear --without-pip -- "$KIT" || exit 1
wheel=$("$KIT/bin/python" -I -c {shlex.quote(_FIND_PIP)} 2>/dev/null || true)
if test -f "$wheel"; then set -- "$wheel/pip"
else python3 -m venv --clear -- "$KIT" || exit 1; set -- -m pip; fi
"$KIT/bin/python" "$@" install --quiet --only-binary :all: {shlex.join(PIP_AND_UV)}"""
"""Installs both in the folder `$KIT`. The pip that Python brings along runs
from its archive: it would be installed and compiled first, only to be replaced at once."""
MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", ".python-version")
SETTINGS = ("Pipfile", "tox.ini", "noxfile.py")
REQUIREMENTS = (
    r"(requirements|constraints)([-_.](base|main|dev|develop|test|tests|testing|ci|all))?\.txt"
    r"|(dev|test|tests|testing|ci)[-_]requirements\.txt"
    r"|requirements/(requirements|base|main|dev|develop|test|tests|testing|ci|all)\.txt"
)
TESTS = r"test_.*\.py|.*_test\.py"

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
ALL_PACKAGES = "uv sync --frozen --all-packages"
UV_WORKSPACE = (f"{ALL_PACKAGES} --all-extras --all-groups || {ALL_PACKAGES} || uv sync --frozen",)
"""Members that the root does not depend on are installed by no plain `uv sync`.
https://docs.astral.sh/uv/concepts/projects/workspaces/"""
_TESTED_WITH = {"pdm": "'pdm[locked]'"}
"""Tools that name the dependencies they were tested with; PDM fails with some newer ones."""
HAVE_PYTEST = "python3 -c 'import pytest' 2>/dev/null || pip install pytest"
_HAVE = "python3 -m {name} --version 2>/dev/null || pip install {name}"
_PYTEST = re.compile(r"^\[(?:tool[.:])?pytest\b|pytest[-_]django", re.MULTILINE)
_DJANGO_TESTS = suggest(
    "tests", "python3 manage.py test", "grep -q django manage.py && python3 -c 'import django'"
)
_RUN_BY = re.compile(r"\b(poetry|pipenv|pdm|rye) run\b")
_RUN_AS = (
    "command -v {tool} >/dev/null || {{ printf '%s\\n' '#!/bin/sh' '{script}' >{path}"
    " && chmod +x {path}; }}"
)
_RUN_SCRIPT = (
    'test "$1" = run && shift && exec "$@"; '
    'echo "{tool} is not here, and only {tool} run works without it" >&2; exit 127'
)
_TYPED = r"^(files|packages|modules)\s*="
_SEE_SOURCES = (
    'echo "$PWD/src" >"$(python3 -c \'import sysconfig; print(sysconfig.get_path("purelib"))\')'
    '/project-sources.pth"'
)


def place_venv(folder: str) -> str:
    """Return where the virtual environment of the project in that folder lies."""
    if not folder:
        return VENV
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", folder).strip("-.")[:60]
    if plain != folder:  # two folders may have become one name
        plain += f"-{hashlib.sha256(folder.encode()).hexdigest()[:6]}"
    return f"{VENV}s/{plain}"


def make_python_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to install what a Python project needs."""
    for lock, (tool, commands) in LOCKED.items():
        if lock in files.paths:
            decided_by = (lock, *(p for p in (*MANIFESTS, "Pipfile") if p in files.paths))
            whole = UV_WORKSPACE if tool == "uv" and _has_members(files) else commands
            recipe = _make_locked_recipe(tool, whole, decided_by, files)
            return replace(recipe, otherwise=_make_pip_recipe(files))
    return _make_pip_recipe(files)


def _has_members(files: RepositoryFiles) -> bool:
    """Return whether the project is the root of a uv workspace."""
    return bool(table(files.toml("pyproject.toml"), "tool", "uv", "workspace"))


def _make_locked_recipe(
    tool: str, commands: tuple[str, ...], decided_by: tuple[str, ...], files: RepositoryFiles
) -> InstallRecipe:
    kind = f"Python ({tool})"
    venv = place_venv(files.folder)
    commands = tuple(command.replace(VENV, venv) for command in commands)
    fetched = InstallRecipe(
        kind,
        (
            f"python3 -m venv {TOOLS}",
            f"{TOOLS}/bin/pip install --quiet {_TESTED_WITH.get(tool, tool)}",
            *commands,
        ),
        CAN_MAKE_VENV,
        f"{kind} needs {tool}, or to fetch it {NO_PYTHON}",
        dict.fromkeys((tool, "pip"), name_package(files)),
        decided_by,
        locked=True,
        otherwise=_make_pip_recipe(files),
    )
    return replace(fetched, commands=commands, available=f"command -v {tool}", instead=fetched)


def _make_pip_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    tested = files.any_named(TESTS)
    installs = [*_list_installs(files)]
    if not installs or (files.folder and not tested and not declares_project(files)):
        return None
    if tested:
        installs.append(HAVE_PYTEST)
    installs += [_HAVE.format(name=name) for name in _list_linters(files)]
    installs += _list_run_scripts(files)
    return InstallRecipe(
        "Python (pip)",
        (f"python3 -m venv {place_venv(files.folder)}", *installs),
        CAN_MAKE_VENV,
        f"Python (pip) needs {NO_PYTHON}",
        {"pip": name_package(files)},
        (
            *files.match_paths(rf"{REQUIREMENTS}|requirements/[^/]*|constraints[^/]*"),
            *(path for path in (*MANIFESTS, *SETTINGS) if path in files.paths),
            *list_requirement_files(files),
        ),
        leaves_out=True,
        carries_on=True,
    )


def _list_run_scripts(files: RepositoryFiles) -> Iterator[str]:
    """Yield how to have `poetry run` and its like where pip installs what the project needs.

    Tasks of a Makefile call them, and the environment that they would enter is first on PATH.
    """
    named = {tool for text in files.texts.values() for tool in _RUN_BY.findall(text)}
    for tool in sorted(named):
        path = f"{place_venv(files.folder)}/bin/{tool}"
        yield _RUN_AS.format(tool=tool, script=_RUN_SCRIPT.format(tool=tool), path=path)


def _list_installs(files: RepositoryFiles) -> Iterator[str]:
    listed = [p for p in files.match_paths(REQUIREMENTS) if not p.startswith("constraints")]
    for path in dict.fromkeys((*listed, *list_requirement_files(files))):
        yield f"pip install -r {path}"
    project = files.toml("pyproject.toml")
    wanted = list_own_needs(files, project)
    if "setup.py" in files.paths or "build-system" in project or declares_project(files):
        # Editable, so that runs import their own files and not a copy of those of today.
        extras = find_extras(files, project)
        target = f".[{','.join(extras)}]" if extras else "."
        yield f"pip install -e {shlex.quote(target)}"
        yield from _install_without_project(name_project(files, project), wanted, files)
    else:
        yield from _install_all(wanted)
    for needs in list_needs(files, project):
        yield from _install_all(needs)


def _install_without_project(
    name: str, wanted: Sequence[str], files: RepositoryFiles
) -> Iterator[str]:
    """Yield how to have what the project needs where it cannot itself be built here."""
    steps = list(_install_all(wanted))
    if name and steps:
        if any(path.startswith("src/") for path in files.paths):
            steps.append(_SEE_SOURCES)
        yield f"pip show --quiet {name} >/dev/null 2>&1 || {{ {' && '.join(steps)}; }}"


def _install_all(wanted: Sequence[str]) -> Iterator[str]:
    given = [each for each in wanted if not each.startswith("-")]  # no options
    if named := dict.fromkeys(given):
        yield f"pip install {' '.join(map(shlex.quote, named))}"


def list_python_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return the checks that a Python project's files suggest."""
    found = []
    if files.any_named(r"test_.*\.py|.*_test\.py|tests?\.py"):
        # Other projects' tests need what is in their own environments, and are run there.
        others = "".join(f" --ignore={shlex.quote(each)}" for each in files.others)
        run = f"python3 -m pytest -q{others}"
        by_pytest = suggest("tests", run, "python3 -m pytest --version")
        by_django = [_DJANGO_TESTS] if "manage.py" in files.paths else []
        found += [by_pytest, *by_django] if _uses_pytest(files) else [*by_django, by_pytest]
        if "tox.ini" in files.paths:
            found.append(suggest("tests", "tox run -q", "command -v tox"))
        if "noxfile.py" in files.paths:
            found.append(suggest("tests", "nox", "command -v nox"))
        # In files that do not use it, it finds nothing to run and is content with that.
        used = "python3 -c 'import unittest' && grep -rqsw --include='*.py' unittest ."
        found.append(suggest("tests", "python3 -m unittest -q", used))
    linters = _list_linters(files)
    if "ruff" in linters:
        found.append(suggest("lint", "ruff check .", "command -v ruff"))
    if "flake8" in linters:
        found.append(suggest("lint", "python3 -m flake8", "python3 -m flake8 --version"))
    if "mypy" in linters:
        run = f"python3 -m mypy{_list_typed_folder(files)}"
        found.append(suggest("types", run, "python3 -m mypy --version"))
    return found


def _uses_pytest(files: RepositoryFiles) -> bool:
    """Return whether maintainers run pytest: alone it does not know Django's settings."""
    settings = {"pytest.ini", ".pytest.ini", "conftest.py"}
    named = any(_PYTEST.search(text) for path, text in files.texts.items() if "/" not in path)
    return bool(settings & files.paths) or named


def _list_typed_folder(files: RepositoryFiles) -> str:
    """Return what mypy is to look at, where its settings do not say it: the project's own package.

    All files at once it refuses where two of them have the same name, as examples often do.
    https://mypy.readthedocs.io/en/stable/running_mypy.html#mapping-file-paths-to-modules
    """
    project = files.toml("pyproject.toml")
    settings = table(project, "tool", "mypy")
    said = any(files.mentions(path, _TYPED) for path in ("setup.cfg", "mypy.ini"))
    if said or any(settings.get(key) for key in ("files", "packages", "modules")):
        return ""
    name = re.sub(r"[-.]+", "_", name_project(files, project))
    own = [name, name.lower(), "src"] if name else ["src"]
    there = {path.partition("/")[0] for path in files.paths if path.endswith(".py") and "/" in path}
    return f" {next((each for each in own if each in there), '.')}"


def _list_linters(files: RepositoryFiles) -> list[str]:
    """Return the linters that the project has settings for."""
    tools = table(files.toml("pyproject.toml"), "tool")
    named = {
        "ruff": "ruff" in tools or bool(files.paths & {"ruff.toml", ".ruff.toml"}),
        "flake8": ".flake8" in files.paths or files.mentions("setup.cfg", r"^\[flake8\]"),
        "mypy": "mypy" in tools
        or "mypy.ini" in files.paths
        or files.mentions("setup.cfg", r"^\[mypy\]"),
    }
    return [name for name, there in named.items() if there]


def _covers(files: RepositoryFiles, folder: str) -> bool:
    """Return whether that folder is a member of the project's uv workspace."""
    workspace = table(files.toml("pyproject.toml"), "tool", "uv", "workspace")
    left_out = strings(workspace.get("exclude"))
    return is_member(folder, strings(workspace.get("members"))) and not is_member(folder, left_out)


PYTHON = Language(
    "Python",
    r"pyproject\.toml|setup\.(cfg|py)|Pipfile|(uv|poetry|pdm|Pipfile)\.lock"
    r"|(dev|test|tests|testing|ci)[-_]requirements\.txt"
    r"|requirements([-_.](base|main|dev|develop|test|tests|testing|ci|all))?\.txt",
    r"tox\.ini|noxfile\.py|mypy\.ini|\.?ruff\.toml|\.flake8",
    make_python_recipe,
    list_python_checks,
    _covers,
)

__all__ = [
    "CAN_MAKE_VENV",
    "FOR_TESTS",
    "INSTALL_PIP_AND_UV",
    "MAKE_VENV",
    "PIP_AND_UV",
    "PYTHON",
    "REQUIREMENTS",
    "place_venv",
]
