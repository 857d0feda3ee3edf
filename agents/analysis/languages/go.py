"""Go: modules are fetched before, and Go's own tool vets and tests them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from agents.analysis.languages.recipe import (
    InstallRecipe,
    Language,
    SuggestedCheck,
    make_recipe,
    suggest,
)
from agents.analysis.languages.workspaces import list_uses
from agents.analysis.repository_files import RepositoryFiles


def make_go_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to fetch the modules of a Go project; those that it vendors, Go takes from there.

    https://go.dev/ref/mod#vendoring
    """
    if not files.paths & {"go.mod", "go.work"} or "vendor/modules.txt" in files.paths:
        return None
    decides = files.match_paths(r"(.*/)?go\.(mod|sum)|go\.work(\.sum)?")
    recipe = make_recipe("Go", "go", ["go mod download"], decides, locked=True)
    packages = _list_packages(files)
    # Go names what it has compiled by its content: what another commit left there is never stale.
    return replace(recipe, warms=(f"go vet {packages}",) if packages else ())


def list_go_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return Go's own checks: `./...` ends where another module begins, so each is named."""
    packages = _list_packages(files)
    if not packages:
        return ()
    # Of what vet finds, a part would keep tests from being run: all of it is the other check.
    return (
        suggest("go vet", f"go vet {packages}", "command -v go"),
        suggest("go tests", f"go test -vet=off {packages}", "command -v go"),
    )


def _list_packages(files: RepositoryFiles) -> str:
    """Return the arguments that name all packages of all modules; empty where there is none."""
    modules = ["."] if "go.mod" in files.paths else []
    modules += [each for each in _list_used(files) if f"{each}/go.mod" in files.paths]
    return " ".join("./..." if at == "." else shlex.quote(f"./{at}/...") for at in modules)


def _list_used(files: RepositoryFiles) -> list[str]:
    return list_uses(files.texts.get("go.work", ""))


def _covers(files: RepositoryFiles, folder: str) -> bool:
    return folder in _list_used(files)


GO = Language("Go", r"go\.(mod|work)", "", make_go_recipe, list_go_checks, _covers)
