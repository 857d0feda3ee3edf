"""Install recipes of JavaScript: the lock file's own tool, without packages' scripts."""

from __future__ import annotations

import re
from collections.abc import Callable

from agents.analysis.dependency_install.recipe import TOOLS, InstallRecipe
from agents.analysis.repository_files import RepositoryFiles, table

MANIFESTS = (
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "yarn.lock",
    ".yarnrc.yml",
    "bun.lock",
    "bun.lockb",
    ".npmrc",
)
NO_NPM = (
    "npm, which sandboxes here do not have: install Node.js for the whole system, or put it into"
    " FETTLE_TOOLCHAINS"
)
BUN = "bun install --frozen-lockfile --ignore-scripts"
NPM = "npm ci --ignore-scripts --no-audit --no-fund"
PNPM = "pnpm install --frozen-lockfile --ignore-scripts"
YARN = "yarn install --frozen-lockfile --ignore-scripts --non-interactive"
YARN_BERRY = "yarn install --immutable --mode=skip-build"
UNLOCKED = "npm install --no-package-lock --ignore-scripts --no-audit --no-fund"
DEPENDENCIES = ("dependencies", "devDependencies", "optionalDependencies")


def javascript(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to install what a JavaScript repository needs."""
    if "package.json" not in files.paths:
        return None
    for lock, find in _BY_LOCK.items():
        if lock in files.paths:
            return find(files)
    if any(table(files.json("package.json"), name) for name in DEPENDENCIES):
        return _recipe("npm", UNLOCKED, "command -v npm", NO_NPM, files, locked=False)
    return None


def package(files: RepositoryFiles) -> str:
    """Return the name of one package that the repository depends on, or nothing."""
    names = (name for kind in DEPENDENCIES for name in table(files.json("package.json"), kind))
    return next(names, "")


def _npm(files: RepositoryFiles) -> InstallRecipe:
    return _recipe("npm", NPM, "command -v npm", NO_NPM, files)


def _bun(files: RepositoryFiles) -> InstallRecipe:
    return _recipe("bun", BUN, "command -v bun", "bun; put it into FETTLE_TOOLCHAINS", files)


def _pnpm(files: RepositoryFiles) -> InstallRecipe:
    return _recipe_with_fallback("pnpm", PNPM, f"pnpm{_version(files, 'pnpm')}", files)


def _yarn(files: RepositoryFiles) -> InstallRecipe:
    version = _version(files, "yarn")
    if ".yarnrc.yml" in files.paths or re.match(r"@[2-9]", version):
        return _recipe_with_fallback("yarn", YARN_BERRY, f"@yarnpkg/cli-dist{version}", files)
    return _recipe_with_fallback("yarn", YARN, f"yarn{version or '@1'}", files)


def _recipe_with_fallback(
    tool: str, command: str, package: str, files: RepositoryFiles
) -> InstallRecipe:
    """Return the recipe of a tool that npm can fetch where it is absent."""
    fetch = f"npm install --global --prefix {TOOLS} --ignore-scripts {package}"
    missing = f"{tool}, or to fetch it {NO_NPM}"
    fetched = _recipe(tool, f"{fetch} && {command}", "command -v npm", missing, files)
    return _recipe(tool, command, f"command -v {tool}", missing, files, instead=fetched)


def _recipe(
    tool: str,
    command: str,
    available: str,
    missing: str,
    files: RepositoryFiles,
    *,
    locked: bool = True,
    instead: InstallRecipe | None = None,
) -> InstallRecipe:
    kind = f"JavaScript ({tool})"
    return InstallRecipe(
        kind,
        tuple(command.split(" && ")),
        f"{available} && command -v node",
        f"{kind} needs {missing}",
        dict.fromkeys((tool, "npm"), package(files)),
        tuple(path for path in MANIFESTS if path in files.paths),
        locked,
        instead,
    )


def _version(files: RepositoryFiles, tool: str) -> str:
    """Return the version that `packageManager` asks for, like `@9.1.0`, or nothing."""
    wanted = files.json("package.json").get("packageManager")
    found = re.match(rf"{tool}(@\d+\.\d+\.\d+)", wanted) if isinstance(wanted, str) else None
    return found[1] if found else ""


_BY_LOCK: dict[str, Callable[[RepositoryFiles], InstallRecipe]] = {
    "pnpm-lock.yaml": _pnpm,
    "yarn.lock": _yarn,
    "bun.lock": _bun,
    "bun.lockb": _bun,
    "package-lock.json": _npm,
    "npm-shrinkwrap.json": _npm,
}
