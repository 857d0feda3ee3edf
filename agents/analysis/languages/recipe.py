"""What a language says of a project: how it is installed, and how it is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agents.analysis.repository_files import RepositoryFiles
from agents.policy import Check

VENV = "/setup/venv"
"""The root's virtual environment: outside the tree, at the place where runs see it later, because
environments know their own path."""

TOOLS = "/setup/tools"
"""Where an installer is put that sandboxes do not have."""


@dataclass(frozen=True)
class InstallRecipe:
    """How the dependencies of one project are installed."""

    kind: str
    """What people call it, like `Python (uv)`."""
    commands: tuple[str, ...]
    """For bash, in the repository's root; the first that fails ends the recipe."""
    available: str
    """A bash command that succeeds where the recipe's programs are there."""
    missing: str
    """What people read where they are not."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """The tools whose package indexes it uses, and of each a package that it will ask for."""
    decided_by: tuple[str, ...] = ()
    """The files whose content decides what is installed."""
    locked: bool = False
    """Whether these files name every version."""
    instead: InstallRecipe | None = None
    """What to do where the programs are not there."""
    otherwise: InstallRecipe | None = None
    """What to do where a command failed: a second way to the same, from the beginning."""
    leaves_out: bool = False
    """What no index has is left out, and the rest is installed: its commands are Fettle's own."""
    carries_on: bool = False
    """Once the first command has succeeded, the others are all tried, whichever of them fails."""
    warms: tuple[str, ...] = ()
    """Commands that fill compilers' caches once all is installed; how they end tells nothing."""
    needless: bool = False
    """Whether no check is of its language and folder, as of the gems of a site."""


@dataclass(frozen=True)
class SuggestedCheck:
    """A check that the files suggest, and how to see whether its program is there."""

    subject: str
    """Of several candidates for one subject the first available one is taken."""
    check: Check
    available: str
    """A bash command that succeeds where the check can run at all."""
    source: str = ""
    """The file whose maintainers wrote the command down; empty where Fettle suggests it."""
    family: str = ""
    """What commands of workflows are about, be they several; empty: it is the subject."""
    partial: bool = False
    """Whether it runs a part of the tests alone, so that it stands in for no other check."""


def suggest(subject: str, command: str, available: str) -> SuggestedCheck:
    """Return the check that people call by its subject."""
    return SuggestedCheck(subject, Check(name=subject, run=command), available)


def _cover_nothing(_: RepositoryFiles, __: str) -> bool:
    return False


def _cover_all(_: RepositoryFiles, __: str) -> bool:
    return True


COVER_ALL = _cover_all
"""A project of such a language takes care of all folders below it."""


@dataclass(frozen=True)
class Language:
    """A language with its package tool: all that Fettle knows of how its projects are worked on.

    Each function is given the project's files as if its folder was the root.
    """

    name: str
    manifests: str
    """Expression for the names of files that make a folder a project."""
    reads: str
    """Expression for the names of files whose text the functions look at, beside the manifests."""
    recipe: Callable[[RepositoryFiles], InstallRecipe | None]
    checks: Callable[[RepositoryFiles], Sequence[SuggestedCheck]]
    covers: Callable[[RepositoryFiles, str], bool] = _cover_nothing
    """Whether the project takes care of that folder below it, as a workspace does of a member."""


def make_recipe(
    kind: str,
    program: str,
    commands: Sequence[str],
    decided_by: Sequence[str],
    *,
    locked: bool = False,
    otherwise: InstallRecipe | None = None,
) -> InstallRecipe:
    """Return the recipe of a program that has to be on this machine."""
    missing = (
        f"{kind} needs {program}, which sandboxes here do not have: install it for the whole "
        f"system, or put it into FETTLE_TOOLCHAINS"
    )
    return InstallRecipe(
        kind,
        tuple(commands),
        f"command -v {program}",
        missing,
        {program: ""},
        tuple(decided_by),
        locked,
        otherwise=otherwise,
    )
