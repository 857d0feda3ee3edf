"""Install recipes of Go, Rust, Ruby and PHP, from what the lock file names."""

from __future__ import annotations

from agents.analysis.dependency_install.recipe import InstallRecipe
from agents.analysis.repository_files import RepositoryFiles

MANIFESTS = (
    *("go.mod", "go.sum", "go.work", "go.work.sum"),
    *("Cargo.toml", "Cargo.lock", "rust-toolchain.toml"),
    *("Gemfile", "Gemfile.lock", ".ruby-version"),
    *("composer.json", "composer.lock"),
)


def go(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to fetch the modules of a Go repository."""
    if not files.paths & {"go.mod", "go.work"}:
        return None
    decides = (r"(.*/)?go\.(mod|sum)", "go.work", "go.work.sum")
    return _recipe("Go", "go", "go mod download", files, *decides, locked=True)


def rust(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to fetch the crates of a Rust repository."""
    if "Cargo.toml" not in files.paths:
        return None
    locked = "Cargo.lock" in files.paths
    command = "cargo fetch --locked" if locked else "cargo fetch"
    decides = (r"(.*/)?Cargo\.toml", "Cargo.lock", r"rust-toolchain(\.toml)?")
    return _recipe("Rust", "cargo", command, files, *decides, locked=locked)


def ruby(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to install the gems of a Ruby repository."""
    if "Gemfile" not in files.paths:
        return None
    locked = "Gemfile.lock" in files.paths
    command = "BUNDLE_FROZEN=true bundle install" if locked else "bundle install"
    decides = (r"Gemfile(\.lock)?", r"[^/]*\.gemspec", r"\.ruby-version")
    return _recipe("Ruby", "bundle", command, files, *decides, locked=locked)


def php(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to install the packages of a PHP repository."""
    if "composer.json" not in files.paths:
        return None
    command = "composer install --no-interaction --no-scripts --no-plugins --no-progress"
    locked = "composer.lock" in files.paths
    return _recipe("PHP", "composer", command, files, r"composer\.(json|lock)", locked=locked)


def _recipe(
    kind: str, program: str, command: str, files: RepositoryFiles, *decides: str, locked: bool
) -> InstallRecipe:
    missing = (
        f"{kind} needs {program}, which sandboxes here do not have: install it for the whole "
        f"system, or put it into FETTLE_TOOLCHAINS"
    )
    decided_by = tuple(files.match_paths("|".join(decides)))
    tools = {program: ""}
    return InstallRecipe(
        kind, (command,), f"command -v {program}", missing, tools, decided_by, locked
    )
