"""Elixir: packages by Mix, and its tests, of all applications where it is an umbrella."""

from __future__ import annotations

from collections.abc import Sequence

from agents.analysis.languages.recipe import (
    InstallRecipe,
    Language,
    SuggestedCheck,
    make_recipe,
    suggest,
)
from agents.analysis.repository_files import RepositoryFiles

_FETCH = "mix deps.get --only test"
# Projects that depend on no package need neither; Mix itself says who is missing where one does.
_TOOLS = "mix local.hex --force --if-missing && mix local.rebar --force --if-missing"


def make_elixir_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to fetch the packages of an Elixir project."""
    if "mix.exs" not in files.paths:
        return None
    decides = files.match_paths(r"(apps/[^/]+/)?mix\.(exs|lock)")
    free = make_recipe("Elixir", "mix", [f"{_TOOLS}; {_FETCH}"], decides)
    if "mix.lock" not in files.paths:
        return free
    locked = [f"{_TOOLS}; {_FETCH} --check-locked"]
    return make_recipe("Elixir", "mix", locked, decides, locked=True, otherwise=free)


def list_elixir_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return Mix's tests."""
    if "mix.exs" not in files.paths:
        return ()
    return (suggest("mix tests", "mix test --no-deps-check", "command -v mix"),)


def _covers(_: RepositoryFiles, folder: str) -> bool:
    """Return whether that folder is an application of an umbrella, or a fetched package."""
    return folder.startswith(("apps/", "deps/"))


ELIXIR = Language("Elixir", r"mix\.exs", "", make_elixir_recipe, list_elixir_checks, _covers)
