""".NET: packages by NuGet, and the tests of a solution with all its projects."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.analysis.languages.recipe import (
    InstallRecipe,
    Language,
    SuggestedCheck,
    make_recipe,
    suggest,
)
from agents.analysis.repository_files import RepositoryFiles

_PROJECT = r"[^/]+\.(cs|fs|vb)proj"
_SOLUTION = r"[^/]+\.slnx?"
_TESTED = re.compile(r"Microsoft\.NET\.Test\.Sdk|<IsTestProject>\s{0,9}true|MSTest\.Sdk")


def make_dotnet_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to fetch the packages of a .NET solution or project."""
    if not files.match_paths(f"{_SOLUTION}|{_PROJECT}"):
        return None
    decides = files.match_paths(
        rf"(.*/)?({_SOLUTION}|{_PROJECT}|Directory\.(Build|Packages)\.(props|targets)"
        r"|packages\.lock\.json|global\.json|[Nn]u[Gg]et\.[Cc]onfig)"
    )
    return make_recipe(".NET", "dotnet", ["dotnet restore"], decides)


def list_dotnet_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return the tests of a .NET solution or project; its build where it has none."""
    if not files.match_paths(f"{_SOLUTION}|{_PROJECT}"):
        return ()
    projects = (text for name, text in files.texts.items() if name.endswith("proj"))
    if any(map(_TESTED.search, projects)):
        return (suggest("dotnet tests", "dotnet test --no-restore", "command -v dotnet"),)
    return (suggest("dotnet build", "dotnet build --no-restore", "command -v dotnet"),)


def _covers(files: RepositoryFiles, _: str) -> bool:
    return bool(files.match_paths(_SOLUTION))


DOTNET = Language(
    ".NET",
    f"{_PROJECT}|{_SOLUTION}".replace("[^/]", "[\\w. -]"),
    "",
    make_dotnet_recipe,
    list_dotnet_checks,
    _covers,
)
