"""All languages that Fettle knows, and what they say of a repository: installs and checks.

To teach Fettle a language or a package tool, write its file beside this one and name it here.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from agents.analysis.languages import c_family, javascript, jvm, python
from agents.analysis.languages.ci_tools import (
    MOST_WORKFLOWS,
    WORKFLOWS,
    add_ci_tools,
    list_ci_tools,
    make_tools_recipe,
)
from agents.analysis.languages.dotnet import DOTNET
from agents.analysis.languages.elixir import ELIXIR
from agents.analysis.languages.go import GO
from agents.analysis.languages.php import PHP
from agents.analysis.languages.projects import (
    FoundProjects,
    Project,
    find_projects,
    list_texts_to_read,
)
from agents.analysis.languages.python_needs import name_package
from agents.analysis.languages.recipe import InstallRecipe, Language, SuggestedCheck
from agents.analysis.languages.ruby import RUBY
from agents.analysis.languages.rust import RUST
from agents.analysis.repository_files import RepositoryFiles
from agents.policy import POLICY_PATH, Policy

LANGUAGES: tuple[Language, ...] = (
    python.PYTHON,
    javascript.JAVASCRIPT,
    GO,
    RUST,
    jvm.MAVEN,
    jvm.GRADLE,
    RUBY,
    PHP,
    DOTNET,
    ELIXIR,
    c_family.CMAKE,
    c_family.MESON,
    c_family.MAKE,
)

DETECTED = "found in the repository's files"
LEFT_OUT_SHOWN = 5
_MORE_TOOLS = ("poetry", "pdm", "pipenv", "pnpm", "bun")
_GOES = re.compile(r"cd ((?:'[^']*'|\"'\"|[^\s'\"])+) && ")
_CALLS_PIP = re.compile(r"\bpip3?\b")
_MORE_MANIFESTS = (
    *(python.MANIFESTS, python.SETTINGS, tuple(python.LOCKED), javascript.MANIFESTS),
    ("go.sum", "go.work.sum", "Cargo.lock", "rust-toolchain.toml", "Gemfile.lock", ".ruby-version"),
    ("composer.lock", "mix.lock", "packages.lock.json"),
)
_LEFT_OUT = (
    "The repository has more folders with projects of their own than are set up and checked. Left "
    "out: {folders}. `setup` and `quality` in `{policy}` can name others."
)


_PASSED_OVER = (
    "Not set up and not checked, since their names say that they hold examples, tests' data or "
    "others' code: {folders}. `setup` and `quality` in `{policy}` can name them."
)


@dataclass(frozen=True)
class InstallPlan:
    """What the set-up phase does for one commit."""

    recipes: tuple[InstallRecipe, ...]
    source: str
    """Where the recipes come from, for people."""
    timeout: float
    """Seconds for all of them."""
    notes: tuple[str, ...] = ()
    """What people should know of it."""
    watched: bool = False
    """Whether it is looked at which files of the commit its commands change."""

    @property
    def tools(self) -> dict[str, str]:
        """Return the tools of all recipes, and of each a package that it will ask for."""
        named = [pair for way in self.ways for pair in way.tools.items()]
        return {**dict(named), **{tool: name for tool, name in reversed(named) if name}}

    @property
    def ways(self) -> tuple[InstallRecipe, ...]:
        """Return the recipes with all that may be done instead of them."""
        return tuple(way for recipe in self.recipes for way in _list_ways(recipe))


def list_read_paths(paths: Iterable[str]) -> list[str]:
    """Return the files whose text plans and checks are made from."""
    listed = [*paths]
    workflows = sorted(path for path in listed if re.fullmatch(WORKFLOWS, path))
    return [*list_texts_to_read(listed, LANGUAGES), *workflows[:MOST_WORKFLOWS]]


def _need_all(_: Project) -> bool:
    return True


def make_plan(
    files: RepositoryFiles, policy: Policy, is_needed: Callable[[Project], bool] = _need_all
) -> InstallPlan:
    """Return the plan; without recipes there is nothing to install.

    `is_needed`: tells whether any check is about a project.
    """
    setup = policy.setup
    if setup.run is not None:
        own = (_make_policy_recipe(setup.run, files),) if setup.run else ()
        return InstallPlan(own, f"`{POLICY_PATH}`", setup.timeout, watched=True)
    found = find_projects(files, LANGUAGES)
    wanted = list_ci_tools(files)
    made = ((each, each.language.recipe(each.files)) for each in found.projects)
    recipes = [
        replace(
            _place_recipe(add_ci_tools(recipe, wanted), each.folder),
            needless=not is_needed(each),
        )
        for each, recipe in made
        if recipe
    ]
    if wanted and not any(each.kind.startswith(python.PYTHON.name) for each in recipes):
        recipes.append(make_tools_recipe(files, wanted))
    return InstallPlan(tuple(recipes), DETECTED, setup.timeout, tuple(_list_notes(found)))


def list_suggestions(files: RepositoryFiles) -> list[SuggestedCheck]:
    """Return the checks that the repository's files suggest, the root's first."""
    projects = find_projects(files, LANGUAGES).projects
    venvs = _list_venvs(projects)
    return [
        _place_check(check, each.folder, venvs)
        for each in projects
        for check in each.language.checks(each.files)
    ]


def list_venvs(files: RepositoryFiles) -> frozenset[str]:
    """Return the folders with a virtual environment of their own, beside the root."""
    return _list_venvs(find_projects(files, (python.PYTHON,)).projects)


def _list_venvs(projects: Iterable[Project]) -> frozenset[str]:
    of_python = (each for each in projects if each.language is python.PYTHON and each.folder)
    return frozenset(each.folder for each in of_python if each.language.recipe(each.files))


def go_to(folder: str, venvs: Collection[str] = ()) -> str:
    """Return what a bash command begins with that works in that folder.

    It sees the virtual environment of the nearest project that has one of its own.
    """
    if not folder:
        return ""
    start = f"cd {shlex.quote(folder)} && "
    nearest = folder
    while nearest and nearest not in venvs:
        nearest = posixpath.dirname(nearest)
    if nearest:
        start += f"export PATH={python.place_venv(nearest)}/bin:$PATH && "
    return start


def find_folder(command: str) -> str:
    """Return the folder that such a command works in; empty for the root."""
    found = _GOES.match(command)
    return shlex.split(found[1])[0] if found else ""


def _place_recipe(recipe: InstallRecipe, folder: str) -> InstallRecipe:
    if not folder:
        return recipe
    ours = recipe.kind.startswith(python.PYTHON.name)
    start = go_to(folder, (folder,) if ours else ())
    if ours and recipe.locked:  # pip needs no more than to be the right one
        venv = python.place_venv(folder)
        start += f"export VIRTUAL_ENV={venv} UV_PROJECT_ENVIRONMENT={venv} && "
    return replace(
        recipe,
        kind=f"{recipe.kind} in {folder}",
        commands=tuple(start + command for command in recipe.commands),
        available=start + recipe.available,
        missing=f"{recipe.missing} (for `{folder}`)",
        decided_by=tuple(f"{folder}/{path}" for path in recipe.decided_by),
        instead=recipe.instead and _place_recipe(recipe.instead, folder),
        otherwise=recipe.otherwise and _place_recipe(recipe.otherwise, folder),
    )


def _place_check(suggested: SuggestedCheck, folder: str, venvs: Collection[str]) -> SuggestedCheck:
    if not folder:
        return suggested
    name, start = f"{suggested.subject} in {folder}", go_to(folder, venvs)
    check = suggested.check.model_copy(update={"name": name, "run": start + suggested.check.run})
    return replace(suggested, subject=name, check=check, available=start + suggested.available)


def _list_ways(recipe: InstallRecipe) -> Iterator[InstallRecipe]:
    """Yield a recipe with all that may be done instead of it."""
    yield recipe
    for other in (recipe.instead, recipe.otherwise):
        if other is not None:
            yield from _list_ways(other)


def _list_notes(found: FoundProjects) -> Iterator[str]:
    for folders, text in ((found.left_out, _LEFT_OUT), (found.passed_over, _PASSED_OVER)):
        if folders:
            more = len(folders) - LEFT_OUT_SHOWN
            shown = ", ".join(f"`{each}`" for each in folders[:LEFT_OUT_SHOWN])
            named = f"{shown} and {more} more" if more > 0 else shown
            yield text.format(folders=named, policy=POLICY_PATH)


def _make_policy_recipe(commands: tuple[str, ...], files: RepositoryFiles) -> InstallRecipe:
    """Return the policy's own commands as a recipe.

    Nobody can say what a command reads. So every file decides that is a manifest, or that a
    command names, and what was installed is thrown away after some days.
    """
    if any(_CALLS_PIP.search(command) for command in commands):
        # Systems refuse pip outside of a virtual environment, and runs could not see its work.
        commands = (f"{python.CAN_MAKE_VENV} && {python.MAKE_VENV} || true", *commands)
    words = re.split(r"[\s'\"=;|&()<>]+", " ".join(commands))
    named = files.paths & {word.removeprefix("./") for word in words}
    kinds = "|".join(f"(?:{each.manifests})" for each in LANGUAGES)
    more = {name for names in _MORE_MANIFESTS for name in names}
    manifests = {
        path
        for path in files.paths
        if (name := path.rsplit("/", 1)[-1]) in more or re.fullmatch(kinds, name)
    }
    listed = {*files.match_paths(rf"{python.REQUIREMENTS}|requirements/[^/]*|[Mm]akefile")}
    tools = {
        **dict.fromkeys(("pip", "uv"), name_package(files)),
        **dict.fromkeys(("npm", "yarn"), javascript.name_package(files)),
        **dict.fromkeys(("go", "cargo"), ""),
        **{word: "" for word in words if word in _MORE_TOOLS},
    }
    decided_by = tuple(sorted(named | manifests | listed))
    return InstallRecipe("the policy's commands", commands, "true", "", tools, decided_by)
