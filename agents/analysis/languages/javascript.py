"""JavaScript: the lock file's own tool without packages' scripts, and scripts by their names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from agents.analysis.languages.member_scripts import reaches_members
from agents.analysis.languages.recipe import (
    TOOLS,
    InstallRecipe,
    Language,
    SuggestedCheck,
    suggest,
)
from agents.analysis.languages.workspaces import is_member, list_texts, read_yaml
from agents.analysis.repository_files import RepositoryFiles, strings, table

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
_PLAIN = "--ignore-scripts --no-audit --no-fund"
BUN = "bun install --frozen-lockfile --ignore-scripts"
NPM = f"npm ci {_PLAIN}"
PNPM = "pnpm install --frozen-lockfile --ignore-scripts"
YARN = "yarn install --frozen-lockfile --ignore-scripts --non-interactive"
YARN_BERRY = "yarn install --immutable --mode=skip-build"
UNLOCKED = f"npm install --no-package-lock {_PLAIN}"
_PLACE_BUN = (
    f"for each in {TOOLS}/lib/node_modules/bun/node_modules/@oven/*/bin/bun; do"
    f' "$each" --version 2>/dev/null && ln -sf "$each" {TOOLS}/bin/bun && break; done'
)
# The set-up's files are a copy that is thrown away, so a lock may be mended there.
SECOND_WAYS = {
    NPM: f"npm install {_PLAIN}",
    f"npm install {_PLAIN}": f"npm install --legacy-peer-deps {_PLAIN}",
    UNLOCKED: f"npm install --no-package-lock --legacy-peer-deps {_PLAIN}",
    PNPM: "pnpm install --no-frozen-lockfile --ignore-scripts",
    YARN: "yarn install --ignore-scripts --non-interactive",
    YARN_BERRY: "yarn install --no-immutable --mode=skip-build",
    BUN: "bun install --ignore-scripts",
}
DEPENDENCIES = ("dependencies", "devDependencies", "optionalDependencies")
SCRIPTS = {  # name of a script: what it checks
    "test": "tests",
    "lint": "lint",
    "typecheck": "types",
    "type-check": "types",
    "tsc": "types",
    "check": "check",
    "build": "build",
}
_OTHER_TESTS = ("test:all", "test:ci", "test:run", "tests", "test:unit", "unit")
"""What a project's tests are called where no script is called `test`; the first is taken."""
_TESTS = re.compile(
    r"(?<![\w./-])(?:vitest(?=\s+(?:run\b|--run\b|.*\s--run\b))|jest|mocha|ava|bun\s+test|node\s(?:\S+\s)*--test)(?![\w.-])"
)
"""What runs tests, whatever its script is called; without `run`, vitest watches."""
_BUN_LOCKS = frozenset(("bun.lock", "bun.lockb"))
_BUN_TESTS = r".+[._](?:test|spec)\.[cm]?[jt]sx?"  # https://bun.com/docs/test#run-tests
_INSTALLED = "{ test -d node_modules || test -e .pnp.cjs; }"
_NO_TEST = re.compile(r"no test specified")
_IDLE = re.compile(r"(?:(?:echo\b[^&|;<>]*|true|:|exit(?:\s+0)?)\s*(?:&&|;|$)\s*)+")
"""What only says something, and succeeds."""
_SIDE_ISSUE = re.compile(
    r"\s*(?:npx\s[^&|;]*\baudit\b[^&|;]*|npm\s+audit[^&|;]*"
    r"|(?:npm|pnpm|yarn)\s+(?:run\s+)?(?:-s\s+|--silent\s+)?"
    r"(?:audit|check|lint|tsc|type-?check)(?::[\w-]+)?)\s*"
)
"""What may stand before or after a script without being part of it: a check that is run by itself,
or a question to an index, which no sandbox reaches."""
_WATCHES = re.compile(r"--watch(?:All)?(?!=false)\b")


def make_javascript_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to install what a JavaScript project needs."""
    if "package.json" not in files.paths:
        return None
    for lock, find in _BY_LOCK.items():
        if lock in files.paths:
            return find(files)
    if "pnpm-workspace.yaml" in files.paths:  # npm knows nothing of its members
        package = f"pnpm{_version(files, 'pnpm')}"
        return _make_fetched_recipe("pnpm", SECOND_WAYS[PNPM], package, files, locked=False)
    if needs_packages(files):
        return _make_recipe("npm", UNLOCKED, "command -v npm", NO_NPM, files, locked=False)
    return None


def name_package(files: RepositoryFiles) -> str:
    """Return the name of one package that the project depends on, or nothing."""
    names = (name for kind in DEPENDENCIES for name in table(files.json("package.json"), kind))
    return next(names, "")


def needs_packages(files: RepositoryFiles) -> bool:
    """Return whether the project, or a member of its workspace, may depend on packages."""
    manifest = files.json("package.json")
    return bool(list_workspaces(files)) or any(table(manifest, kind) for kind in DEPENDENCIES)


def list_workspaces(files: RepositoryFiles) -> list[str]:
    """Return the patterns of the workspace's members: npm's, Yarn's and Bun's, and pnpm's."""
    named = files.json("package.json").get("workspaces")
    patterns = strings(named) or strings(table(named).get("packages"))
    return patterns + list_texts(
        read_yaml(files.texts.get("pnpm-workspace.yaml", "")).get("packages")
    )


def _npm(files: RepositoryFiles) -> InstallRecipe:
    return _make_recipe("npm", NPM, "command -v npm", NO_NPM, files)


def _bun(files: RepositoryFiles) -> InstallRecipe:
    """Return Bun's recipe; its package has one program for each system, which a script would place.

    https://bun.com/docs/installation
    """
    recipe = _make_fetched_recipe("bun", BUN, f"bun{_version(files, 'bun')}", files)
    fetched = recipe.instead
    assert fetched is not None, "npm fetches it"
    fetch, *rest = fetched.commands
    return replace(recipe, instead=replace(fetched, commands=(f"{fetch} && {_PLACE_BUN}", *rest)))


def _pnpm(files: RepositoryFiles) -> InstallRecipe:
    return _make_fetched_recipe("pnpm", PNPM, f"pnpm{_version(files, 'pnpm')}", files)


def _yarn(files: RepositoryFiles) -> InstallRecipe:
    version = _version(files, "yarn")
    if ".yarnrc.yml" in files.paths or re.match(r"@[2-9]", version):
        return _make_fetched_recipe("yarn", YARN_BERRY, f"@yarnpkg/cli-dist{version}", files)
    return _make_fetched_recipe("yarn", YARN, f"yarn{version or '@1'}", files)


def _make_fetched_recipe(
    tool: str, command: str, package: str, files: RepositoryFiles, *, locked: bool = True
) -> InstallRecipe:
    """Return the recipe of a tool that npm can fetch where it is absent."""
    fetch = f"npm install --global --prefix {TOOLS} --ignore-scripts {package}"
    missing = f"{tool}, or to fetch it {NO_NPM}"
    fetched = _make_recipe(tool, command, "command -v npm", missing, files, locked=locked)
    fetched = replace(fetched, commands=(fetch, *fetched.commands))
    present = _make_recipe(tool, command, f"command -v {tool}", missing, files, locked=locked)
    return replace(present, instead=fetched)


def _make_recipe(
    tool: str,
    command: str,
    available: str,
    missing: str,
    files: RepositoryFiles,
    *,
    locked: bool = True,
) -> InstallRecipe:
    kind = f"JavaScript ({tool})"
    second = SECOND_WAYS.get(command)
    return InstallRecipe(
        kind,
        (command,),
        f"{available} && command -v node",
        f"{kind} needs {missing}",
        dict.fromkeys((tool, "npm"), name_package(files)),
        (*(path for path in MANIFESTS if path in files.paths), *_list_members(files)),
        locked,
        otherwise=_make_recipe(tool, second, available, missing, files, locked=False)
        if second
        else None,
        leaves_out=second is None and tool == "npm",
    )


def _list_members(files: RepositoryFiles) -> list[str]:
    """Return the manifests of the workspace's members, which decide what is installed, too."""
    patterns = list_workspaces(files)
    found = files.match_paths(r"(?!(?:.*/)?node_modules/).*/package\.json") if patterns else []
    return [path for path in found if is_member(path.removesuffix("/package.json"), patterns)]


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


def list_javascript_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return the scripts of a JavaScript project that check it, and those of its members.

    What a script of the workspace's root runs in the members itself is not run there twice.
    """
    scripts = table(files.json("package.json"), "scripts")
    tests = _find_tests(scripts)
    chosen = {**({tests: "tests"} if tests else {}), **SCRIPTS}
    found = [
        suggest(f"npm {subject}", _write_command(run, script, scripts), available)
        for script, subject in chosen.items()
        if runs_and_ends(scripts.get(script))
        for run, available in _list_runners(files)
    ]
    if not tests and files.paths & _BUN_LOCKS and files.any_named(_BUN_TESTS):
        _, available = next(_list_runners(files))
        found.append(suggest("npm tests", "bun test", available))
    if tests and runs_and_ends(scripts.get("build")):  # which some tests are about
        found += [
            suggest("npm tests", f"{run} build && {_write_command(run, tests, scripts)}", available)
            for run, available in _list_runners(files)
        ]
    patterns = list_workspaces(files)
    return [*found, *_list_member_checks(files, patterns, scripts)] if patterns else found


def _find_tests(scripts: Mapping[str, object]) -> str | None:
    """Return the script that runs the tests."""
    others = (name for name, text in scripts.items() if _TESTS.search(str(text)))
    names = ("test", *_OTHER_TESTS, *others)
    return next((name for name in names if runs_and_ends(scripts.get(name))), None)


def _list_member_checks(
    files: RepositoryFiles, patterns: Sequence[str], scripts: Mapping[str, object]
) -> Iterator[SuggestedCheck]:
    """Yield the checks of a workspace's members, of each kind that the root does not run there."""
    known = _list_member_scripts(files)
    there = {"test", "lint", "typecheck"} if known is None else known
    run, available = _find_member_runner(files)
    for subject in dict.fromkeys(SCRIPTS.values()):
        own = [each for each, about in SCRIPTS.items() if about == subject]
        at_root = [each for each in own if runs_and_ends(scripts.get(each))]
        if any(reaches_members(each, scripts, patterns) for each in at_root):
            continue
        if wanted := [each for each in own if each in there]:
            name = f"npm {subject}{' of members' if at_root else ''}"
            command = " && ".join(f"{run} {each}" for each in wanted)
            yield suggest(name, command, f"{available} && {_INSTALLED}")
            if subject == "tests" and "build" in there:  # some are about what members are built to
                yield suggest(name, f"{run} build && {command}", f"{available} && {_INSTALLED}")


def _find_member_runner(files: RepositoryFiles) -> tuple[str, str]:
    """Return what runs a script in all members that have it, and how to see whether it is there."""
    if not files.json("package.json").get("workspaces"):
        return "pnpm --recursive --no-bail --if-present run", "command -v pnpm"
    if ".yarnrc.yml" in files.paths:
        return "yarn workspaces foreach --all run", "command -v yarn"
    return "npm run --silent --if-present --workspaces", "command -v npm"


def _list_member_scripts(files: RepositoryFiles) -> set[str] | None:
    """Return the scripts that members of the workspace have; None where no member was read."""
    patterns = list_workspaces(files)
    read = (path for path in files.texts if path.endswith("/package.json"))
    members = [path for path in read if is_member(posixpath.dirname(path), patterns)]
    tables = (table(files.json(path), "scripts") for path in members)
    scripts = {name for each in tables for name, text in each.items() if runs_and_ends(text)}
    return scripts if members else None


def _list_runners(files: RepositoryFiles) -> Iterator[tuple[str, str]]:
    """Yield what runs a script, and how to see whether it can: the project's own tool first."""
    own = {"bun": _BUN_LOCKS, "yarn": {".yarnrc.yml"}}
    installed = f" && {_INSTALLED}" if needs_packages(files) else ""
    for tool, signs in own.items():
        if files.paths & signs:
            yield f"{tool} run", f"command -v {tool}{installed}"
    yield "npm run --silent", f"command -v npm{installed}"


def _write_command(run: str, script: str, scripts: Mapping[str, object]) -> str:
    """Return the command of a script; npm leaves out hooks that are side issues.

    https://docs.npmjs.com/cli/using-npm/scripts#pre--post-scripts
    """
    hooks = [name for name in (f"pre{script}", f"post{script}") if name in scripts]
    aside = [name for name in hooks if _is_side_issue(scripts[name])]
    if not aside or not run.startswith("npm "):
        return f"{run} {script}"
    own = f"{run} --ignore-scripts {script}"
    parts = [own if name == script else f"{run} {name}"
             for name in (f"pre{script}", script, f"post{script}")
             if name == script or (name in hooks and name not in aside)]  # fmt: skip
    return " && ".join(parts)


def _is_side_issue(hook: object) -> bool:
    return isinstance(hook, str) and all(map(_SIDE_ISSUE.fullmatch, hook.split("&&")))


def runs_and_ends(script: object) -> bool:
    """Return whether a script does something, and ends without somebody who stops it."""
    if not isinstance(script, str) or not script.strip():
        return False
    idle = _NO_TEST.search(script) or _IDLE.fullmatch(script.strip())
    return not (idle or _WATCHES.search(script))


def _covers(files: RepositoryFiles, folder: str) -> bool:
    return is_member(folder, list_workspaces(files))


JAVASCRIPT = Language(
    "JavaScript",
    r"package\.json",
    r"pnpm-workspace\.yaml",
    make_javascript_recipe,
    list_javascript_checks,
    _covers,
)
