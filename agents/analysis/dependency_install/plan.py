"""Plan the installation: the policy's commands, else one recipe per ecosystem found."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.analysis.dependency_install import javascript, python
from agents.analysis.dependency_install import other_languages as others
from agents.analysis.dependency_install.recipe import InstallRecipe
from agents.analysis.repository_files import RepositoryFiles
from agents.policy import POLICY_PATH, Policy

READ = ("pyproject.toml", "setup.cfg", "package.json")
"""The files whose text a plan is made from."""

DETECTED = "found in the repository's files"
_FINDERS = (
    python.python,
    javascript.javascript,
    others.go,
    others.rust,
    others.ruby,
    others.php,
)
_MANIFESTS = {*python.MANIFESTS, *python.LOCKED, *javascript.MANIFESTS, *others.MANIFESTS}
_MORE_TOOLS = ("poetry", "pdm", "pipenv", "pnpm", "bun")
_CALLS_PIP = re.compile(r"\bpip3?\b")


@dataclass(frozen=True)
class InstallPlan:
    """What the set-up phase does for one commit."""

    recipes: tuple[InstallRecipe, ...]
    source: str
    """Where the recipes come from, for people."""
    timeout: float
    """Seconds for all of them."""

    @property
    def tools(self) -> dict[str, str]:
        """Return the tools of all recipes, and of each a package that it will ask for."""
        return {tool: name for recipe in self.recipes for tool, name in recipe.tools.items()}


def make_plan(files: RepositoryFiles, policy: Policy) -> InstallPlan:
    """Return the plan; without recipes there is nothing to install."""
    setup = policy.setup
    if setup.run is not None:
        recipes = (_of_policy(setup.run, files),) if setup.run else ()
        return InstallPlan(recipes, f"`{POLICY_PATH}`", setup.timeout)
    found = (find(files) for find in _FINDERS)
    return InstallPlan(tuple(r for r in found if r is not None), DETECTED, setup.timeout)


def _of_policy(commands: tuple[str, ...], files: RepositoryFiles) -> InstallRecipe:
    """Return the policy's own commands as a recipe.

    Nobody can say what a command reads. So every file decides that is a manifest, or that a
    command names, and what was installed is thrown away after some days.
    """
    if any(_CALLS_PIP.search(command) for command in commands):
        # Systems refuse pip outside of a virtual environment, and runs could not see its work.
        commands = (f"{python.CAN_MAKE_VENV} && {python.MAKE_VENV} || true", *commands)
    words = re.split(r"[\s'\"=;|&()<>]+", " ".join(commands))
    named = files.paths & {word.removeprefix("./") for word in words}
    manifests = {path for path in files.paths if path.rsplit("/", 1)[-1] in _MANIFESTS}
    listed = {*files.match_paths(rf"{python.REQUIREMENTS}|requirements/[^/]*|[Mm]akefile")}
    tools = {
        **dict.fromkeys(("pip", "uv"), python.package(files)),
        **dict.fromkeys(("npm", "yarn"), javascript.package(files)),
        **dict.fromkeys(("go", "cargo"), ""),
        **{word: "" for word in words if word in _MORE_TOOLS},
    }
    decided_by = tuple(sorted(named | manifests | listed))
    return InstallRecipe("the policy's commands", commands, "true", "", tools, decided_by)
