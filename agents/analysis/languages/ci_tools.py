"""What workflows install by name to check a Python project: linters, and what runs its tests.

No manifest names them, and the commands that workflows run need them. Only well-known tools are
taken, from the package index that everything comes from: no address, no option, no other package.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from agents.analysis.languages.python import (
    CAN_MAKE_VENV,
    HAVE_PYTEST,
    MAKE_VENV,
    NO_PYTHON,
    PYTHON,
    TESTS,
)
from agents.analysis.languages.recipe import InstallRecipe
from agents.analysis.repository_files import RepositoryFiles

WORKFLOWS = r"\.github/workflows/[^/]+\.ya?ml"
MOST_WORKFLOWS = 20

_INSTALLS = re.compile(r"\b(?:pip3?|pipx|uv tool|uv pip) install ([^\n;&|#]{1,400})")
_TOOL = re.compile(
    r"(flake8|black|isort|pylint|bandit|pyright|basedpyright|mypy|ruff|coverage|hypothesis"
    r"|pytest(?:-(?:asyncio|cov|mock|timeout|xdist))?)(?:\[[\w,-]{1,60}\])?(?:[<>=!~]=?[\w.,<>=!~*]{1,60})?"
)


def list_ci_tools(files: RepositoryFiles) -> dict[str, str]:
    """Return the tools that workflows install, by their names: each as pip takes it."""
    found: dict[str, str] = {}
    for path in files.match_paths(WORKFLOWS)[:MOST_WORKFLOWS]:
        text = files.texts.get(path, "").replace("\\\n", " ")
        for words in _INSTALLS.findall(text):
            for word in _split(words):
                if tool := _TOOL.fullmatch(word):
                    found.setdefault(tool[1], word)
    return found


def add_ci_tools(recipe: InstallRecipe, wanted: dict[str, str]) -> InstallRecipe:
    """Return a Python project's recipe with these tools; all ways to do it have them."""
    if not wanted or not recipe.kind.startswith(PYTHON.name):
        return recipe
    return replace(
        recipe,
        commands=(*recipe.commands, *_list_installs(recipe, wanted)),
        instead=recipe.instead and add_ci_tools(recipe.instead, wanted),
        otherwise=recipe.otherwise and add_ci_tools(recipe.otherwise, wanted),
    )


def make_tools_recipe(files: RepositoryFiles, wanted: dict[str, str]) -> InstallRecipe:
    """Return how to install these tools where nothing else of Python is installed."""
    tests = (HAVE_PYTEST,) if files.any_named(TESTS) else ()
    bare = InstallRecipe(
        "Python (pip)",
        (MAKE_VENV, *tests),
        CAN_MAKE_VENV,
        f"Python (pip) needs {NO_PYTHON}",
        {"pip": next(iter(wanted), "")},
        carries_on=True,
    )
    return add_ci_tools(bare, wanted)


def _list_installs(recipe: InstallRecipe, wanted: dict[str, str]) -> Iterator[str]:
    """Yield what installs them; of what a lock file names, none of them may cost anything."""
    pip = "uv pip" if recipe.kind == "Python (uv)" else "pip"
    for name, word in wanted.items():
        command = f"{pip} show --quiet {name} 2>/dev/null || {pip} install {shlex.quote(word)}"
        yield f"{command} || true" if recipe.locked else command


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError:  # the quote that ends the whole line in YAML
        return [word.strip("'\"") for word in words.split()]
