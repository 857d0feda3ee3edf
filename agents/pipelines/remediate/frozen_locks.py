"""Dependency files that the ladder cannot read: which command of their own tool has accepted them.

A lock file holds hashes, which nobody can write by hand: a change of one is worth nothing until its
tool has installed from it as it is. A manifest counts once its tool has found a solution of all
that it asks for. Both happen in the set-up sandbox, which alone reaches an index. A file that no
command here is known for is never taken on anybody's word.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator

from agents.pipelines.remediate.accepted.exit_codes import Program, must_succeed
from agents.pipelines.remediate.accepted.tools import LOCKS, ProvingTool, find_tool, is_manifest
from agents.pipelines.remediate.dependency_files import find_safe_version
from agents.pipelines.remediate.ladder import Group
from agents.ports import SetupCommand, SetupResult
from agents.text import code_span, one_line

LONGEST_COMMAND = 160
_ACCEPTED = "{command} accepted {file} as it is (exit code 0)."
_RESOLVED = "{command} found a solution of what {file} asks for (exit code 0)."
_REFUSED = (
    "{command} refuses {file} with the change (exit code {code}), and accepted it as it was before"
)
_UNPROVED = (
    "No command has accepted {file} as it is with the change: {why}. It holds hashes, which cannot"
    " be told from wrong ones without its tool"
)
_UNRESOLVED = (
    "No command has found a solution of what {file} asks for with the change: {why}. Without its"
    " tool nobody knows whether it can be installed"
)
_RECIPE = (
    "Fettle cannot read {file}, and {why}, so nobody could prove a change of it. {by_hand} Where"
    " set-up installs from {file} (`setup.run` in `.github/fettle.yml`), Fettle can try by itself."
)
_UNMENDED = (
    "No rule of Fettle's mends {files} ({ecosystem}): only a model, or a person with its tool, can."
)
_BY_HAND = (
    "On a machine with the tool, run {commands} in {place}, look at what changed{goal}, and commit"
    " it."
)
_GOAL = ": {package} has to be at {version} or newer"
_NOT_RUN = "its tool did not run here"
_FAILED = "{command} ended with exit code {code}"
_CATALOG = "gradle/libs.versions.toml"
"""Where Gradle looks for a catalog: from the project's folder.
https://docs.gradle.org/current/userguide/version_catalogs.html"""
_REWRITTEN = "set-up itself changed it, so what was installed is something else"


def find_locks(paths: Iterable[str], group: Group) -> tuple[str, ...]:
    """Return the lock files of the group's ecosystem that hold for its folder: the nearest ones."""
    there = set(paths)
    folder = group.directory.strip("/")
    while True:
        found = [
            path
            for name, tool in LOCKS.items()
            if tool.ecosystem == group.ecosystem and (path := posixpath.join(folder, name)) in there
        ]
        if found or not folder:
            return tuple(found)
        folder = posixpath.dirname(folder)


def explain_recipe(files: Iterable[str], setup: SetupResult, group: Group) -> str:
    """Return what people can do about a file that set-up does not install from.

    Empty where set-up accepts all of them: then a change of them can be proved as well.
    """
    for file in files:
        if (why := _explain(file, setup)) is not None:
            by_hand = _format_by_hand(file, group)
            return _RECIPE.format(file=code_span(file), why=why, by_hand=by_hand)
    return ""


def explain_by_hand(paths: Collection[str], group: Group) -> str:
    """Return how people move the package in the group's files; empty where nothing is known."""
    named = [path for path in group.manifests if path in paths]
    files = (*find_locks(paths, group), *named)
    known = (file for file in files if find_tool(file).forms)
    return next((_format_by_hand(file, group) for file in known), "")


def explain_unmended(paths: Collection[str], group: Group) -> str:
    """Return what to say where no rule mends the group's files: how people do it."""
    files = ", ".join(code_span(one_line(each, 80)) for each in group.manifests[:3])
    about = {"files": files or "these files", "ecosystem": one_line(group.ecosystem, 40)}
    return f"{_UNMENDED.format(**about)} {explain_by_hand(paths, group)}".strip()


def list_unproved(files: Iterable[str], setup: SetupResult) -> list[str]:
    """Return for each file that no command accepted why it proves nothing."""
    return [
        (_UNRESOLVED if is_manifest(file) else _UNPROVED).format(file=code_span(file), why=why)
        for file in files
        if (why := _explain(file, setup)) is not None
    ]


def list_refused(files: Iterable[str], setup: SetupResult, before: SetupResult) -> list[str]:
    """Return for each lock file how a command refused it that had accepted it before the change."""
    return [
        _REFUSED.format(command=_name(refused), file=code_span(file), code=refused.exit_code)
        for file in files
        if posixpath.basename(file) in LOCKS
        and (refused := _find_proof(file, setup)) is not None
        and refused.exit_code
        and _explain(file, before) is None
    ]


def list_accepted(files: Iterable[str], setup: SetupResult) -> list[str]:
    """Return for each file which command accepted it, as evidence."""
    return [
        (_RESOLVED if is_manifest(file) else _ACCEPTED).format(
            command=_name(command), file=code_span(file)
        )
        for file in files
        if (command := _find_proof(file, setup)) is not None and _explain(file, setup) is None
    ]


def _format_by_hand(file: str, group: Group) -> str:
    package = one_line(group.package, 100).replace("`", "'")
    version = find_safe_version(group)
    project = file.removesuffix(_CATALOG) if f"/{file}".endswith(f"/{_CATALOG}") else file
    place = posixpath.dirname(project)
    made = {
        "equals": f"=={version}",
        "at": f"@{version}",
        "at_v": f"@v{version.removeprefix('v')}",
        "precise": f" --precise {version}",
        "colon": f":^{version}",
        "version_option": f" --version {version}",
    }
    about = {name: text if version else "" for name, text in made.items()}
    recipe = find_tool(file).recipe.format(
        package=package, version=version or "(the fixed version)", **about
    )
    return _BY_HAND.format(
        commands=recipe,
        goal=_GOAL.format(package=f"`{package}`", version=version) if version else "",
        place=code_span(place) if place else "the repository's root",
    )


def _explain(file: str, setup: SetupResult) -> str | None:
    """Return why the file is not accepted; None where it is."""
    if file in setup.changed:
        return _REWRITTEN
    found = _find_proof(file, setup)
    if found is None:
        return _NOT_RUN
    if found.exit_code:
        return _FAILED.format(command=_name(found), code=found.exit_code)
    return None


def _find_proof(file: str, setup: SetupResult) -> SetupCommand | None:
    """Return the command that accepted the file, or the one that did not; None: there was none.

    Once it was refused, only a command of the same kind that follows at once is believed: another
    one may have written the file anew.
    """
    tool, folder = find_tool(file), posixpath.dirname(file)
    for place in _list_folders(folder) if tool.within else (folder,):
        refused = None
        for command in setup.commands:
            if not _accepts(command.command, tool, file, place):
                if refused:
                    return refused
                continue
            if not command.exit_code:
                return command
            refused = refused or command
        if refused:
            return refused
    return None


def _accepts(command: str, tool: ProvingTool, file: str, place: str) -> bool:
    def test(program: Program) -> bool:
        return program.folder == place and any(form.fits(program, file) for form in tool.forms)

    return must_succeed(command, test)


def _list_folders(folder: str) -> Iterator[str]:
    """Yield a folder and all above it, up to the root."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _name(command: SetupCommand) -> str:
    return code_span(one_line(command.command, LONGEST_COMMAND))
