"""Lock files that the ladder cannot read: which command of their own tool has accepted them.

They hold hashes, which nobody can write by hand. A change of one is worth nothing until its tool
has installed from it as it is, in the set-up sandbox, which alone reaches an index.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass

from agents.pipelines.remediate.ladder import Group
from agents.ports import SetupCommand, SetupResult
from agents.text import code_span, one_line

LONGEST_COMMAND = 160
_ACCEPTED = "{command} accepted {lock} as it is (exit code 0)."
_UNPROVED = (
    "No command has accepted {lock} as it is with the change: {why}. It holds hashes, which cannot"
    " be told from wrong ones without its tool"
)
_RECIPE = (
    "Fettle cannot read {lock}, and {why}, so nobody could prove a change of it. On a machine with"
    " the tool, run {commands} in {place}, look at what changed, and commit it. Where set-up"
    " installs from {lock} (`setup.run` in `.github/fettle.yml`), Fettle can try by itself."
)
_NOT_RUN = "its tool did not run here"
_FAILED = "{command} ended with exit code {code}"


@dataclass(frozen=True)
class _Tool:
    """What writes a lock file."""

    ecosystem: str
    """GitHub's name of it."""
    accepts: re.Pattern[str]
    """A command that installs from the lock file and refuses one that is wrong."""
    recipe: str
    """How a person moves one package in it."""


def _tool(ecosystem: str, accepts: str, recipe: str) -> _Tool:
    return _Tool(ecosystem, re.compile(accepts), recipe)


_YARN = r"\byarn install\b.*(?:--frozen-lockfile|--immutable)"
_TOOLS = {
    "yarn.lock": _tool(
        "npm", _YARN, "`yarn up -R {package}` (with yarn 1 `yarn upgrade {package}`)"
    ),
    "bun.lock": _tool("npm", r"\bbun install\b.*--frozen-lockfile", "`bun update {package}`"),
    "package-lock.json": _tool("npm", r"\bnpm ci\b", "`npm update {package}`"),
    "pnpm-lock.yaml": _tool(
        "npm", r"\bpnpm install\b.*(?<!no)-frozen-lockfile", "`pnpm update {package}`"
    ),
    "go.sum": _tool(
        "go", r"\bgo mod (?:download|verify)\b", "`go get {package}` and `go mod tidy`"
    ),
    "Pipfile.lock": _tool("pip", r"\bpipenv sync\b", "`pipenv upgrade {package}`"),
    "pdm.lock": _tool("pip", r"\bpdm install\b.*--frozen-lockfile", "`pdm update {package}`"),
    "poetry.lock": _tool("pip", r"\bpoetry (?:install|sync)\b", "`poetry update {package}`"),
    "uv.lock": _tool("pip", r"\buv sync\b.*--(?:frozen|locked)", "`uv lock -P {package}`"),
    "Cargo.lock": _tool("rust", r"\bcargo fetch --locked\b", "`cargo update -p {package}`"),
    "Gemfile.lock": _tool(
        "rubygems", r"BUNDLE_FROZEN=true bundle install", "`bundle update --conservative {package}`"
    ),
    "composer.lock": _tool("composer", r"\bcomposer install\b", "`composer update {package} -W`"),
}


def find_locks(paths: Iterable[str], group: Group) -> tuple[str, ...]:
    """Return the lock files of the group's ecosystem that hold for its folder: the nearest ones."""
    there = set(paths)
    folder = group.directory.strip("/")
    while True:
        found = [
            path
            for name, tool in _TOOLS.items()
            if tool.ecosystem == group.ecosystem and (path := posixpath.join(folder, name)) in there
        ]
        if found or not folder:
            return tuple(found)
        folder = posixpath.dirname(folder)


def list_written(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of the paths that are such lock files."""
    return tuple(path for path in paths if posixpath.basename(path) in _TOOLS)


def explain_recipe(locks: Iterable[str], setup: SetupResult, group: Group) -> str:
    """Return what people can do about a lock file that set-up does not install from.

    Empty where set-up accepts all of them: then a change of them can be proved as well.
    """
    for lock in locks:
        if (why := _explain(lock, setup)) is not None:
            package = one_line(group.package, 100).replace("`", "'")
            recipe = _TOOLS[posixpath.basename(lock)].recipe.format(package=package)
            place = posixpath.dirname(lock)
            return _RECIPE.format(
                lock=code_span(lock),
                why=why,
                commands=recipe,
                place=code_span(place) if place else "the repository's root",
            )
    return ""


def list_unproved(locks: Iterable[str], setup: SetupResult) -> list[str]:
    """Return for each lock file that no command accepted why it proves nothing."""
    return [
        _UNPROVED.format(lock=code_span(lock), why=why)
        for lock in locks
        if (why := _explain(lock, setup)) is not None
    ]


def list_accepted(locks: Iterable[str], setup: SetupResult) -> list[str]:
    """Return for each lock file which command accepted it, as evidence."""
    return [
        _ACCEPTED.format(command=_name(command), lock=code_span(lock))
        for lock in locks
        for command in _find_commands(lock, setup)[-1:]
        if command.exit_code == 0
    ]


def _explain(lock: str, setup: SetupResult) -> str | None:
    """Return why the lock file is not accepted; None where it is."""
    commands = _find_commands(lock, setup)
    if not commands:
        return _NOT_RUN
    failed = [command for command in commands if command.exit_code]
    if failed:
        return _FAILED.format(command=_name(failed[0]), code=failed[0].exit_code)
    return None


def _find_commands(lock: str, setup: SetupResult) -> list[SetupCommand]:
    accepts = _TOOLS[posixpath.basename(lock)].accepts
    return [command for command in setup.commands if accepts.search(command.command)]


def _name(command: SetupCommand) -> str:
    return code_span(one_line(command.command, LONGEST_COMMAND))
