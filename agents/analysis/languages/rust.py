"""Rust: crates are fetched before, and Cargo tests all members of a workspace."""

from __future__ import annotations

from collections.abc import Sequence

from agents.analysis.languages.recipe import (
    InstallRecipe,
    Language,
    SuggestedCheck,
    make_recipe,
    suggest,
)
from agents.analysis.languages.workspaces import is_member
from agents.analysis.repository_files import RepositoryFiles, strings, table


def make_rust_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to fetch the crates of a Rust project."""
    if "Cargo.toml" not in files.paths:
        return None
    decides = files.match_paths(r"(.*/)?Cargo\.toml|Cargo\.lock|rust-toolchain(\.toml)?")
    free = make_recipe("Rust", "cargo", ["cargo fetch"], decides)
    if "Cargo.lock" not in files.paths:
        return free
    fetch = ["cargo fetch --locked"]
    return make_recipe("Rust", "cargo", fetch, decides, locked=True, otherwise=free)


def list_rust_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return Cargo's tests."""
    if "Cargo.toml" not in files.paths:
        return ()
    command = "cargo test --offline --no-fail-fast"
    if "workspace" in files.toml("Cargo.toml"):
        command += " --workspace"
    return (suggest("cargo tests", command, "command -v cargo"),)


def _covers(files: RepositoryFiles, folder: str) -> bool:
    """Return whether a crate is in the workspace: as a member, or as a part that it depends on.

    https://doc.rust-lang.org/cargo/reference/workspaces.html#the-members-and-exclude-fields
    """
    manifest = files.toml("Cargo.toml")
    workspace = table(manifest, "workspace")
    if "workspace" not in manifest or is_member(folder, strings(workspace.get("exclude"))):
        return False
    parts = [table(each).get("path") for each in table(manifest, "dependencies").values()]
    return is_member(folder, [*strings(workspace.get("members")), *strings(parts)])


RUST = Language("Rust", r"Cargo\.toml", "", make_rust_recipe, list_rust_checks, _covers)
