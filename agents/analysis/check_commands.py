"""Find the commands that check a repository: from its policy, else from its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.analysis.repository_files import RepositoryFiles, table
from agents.policy import Check


@dataclass(frozen=True)
class SuggestedCheck:
    """A check that the files suggest, and how to see whether its program is there."""

    subject: str
    """Of several candidates for one subject the first available one is taken."""
    check: Check
    available: str
    """A bash command that succeeds where the check can run at all."""


SETTINGS_FILES = (
    ".pre-commit-config.yaml",
    "Makefile",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "noxfile.py",
    "mypy.ini",
    "ruff.toml",
    ".flake8",
    "package.json",
    "go.mod",
    "Cargo.toml",
)


def detect(files: RepositoryFiles) -> list[SuggestedCheck]:
    """Return the checks that the repository's files suggest, most telling first."""
    return [candidate for find in _FINDERS for candidate in find(files)]


def _python(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    found = []
    if files.any_named(r"test_.*\.py|.*_test\.py|tests?\.py"):
        found.append(_candidate("tests", "python3 -m pytest -q", "python3 -m pytest --version"))
        if "tox.ini" in files.paths:
            found.append(_candidate("tests", "tox run -q", "command -v tox"))
        if "noxfile.py" in files.paths:
            found.append(_candidate("tests", "nox", "command -v nox"))
        # In files that do not use it, it finds nothing to run and is content with that.
        used = "python3 -c 'import unittest' && grep -rqsw --include='*.py' unittest ."
        found.append(_candidate("tests", "python3 -m unittest -q", used))
    tools = table(files.toml("pyproject.toml"), "tool")
    if "ruff" in tools or "ruff.toml" in files.paths:
        found.append(_candidate("lint", "ruff check .", "command -v ruff"))
    if ".flake8" in files.paths or files.mentions("setup.cfg", r"^\[flake8\]"):
        found.append(_candidate("lint", "python3 -m flake8", "python3 -m flake8 --version"))
    if "mypy" in tools or "mypy.ini" in files.paths or files.mentions("setup.cfg", r"^\[mypy\]"):
        found.append(_candidate("types", "python3 -m mypy .", "python3 -m mypy --version"))
    return found


def _pre_commit(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    if ".pre-commit-config.yaml" not in files.paths:
        return ()
    return (_candidate("hooks", "pre-commit run --all-files", "command -v pre-commit"),)


def _node(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    scripts = table(files.json("package.json"), "scripts")
    wanted = {"test": "tests", "lint": "lint", "typecheck": "types"}
    installed = "command -v npm && test -d node_modules"
    return [
        _candidate(f"npm {subject}", f"npm run --silent {script}", installed)
        for script, subject in wanted.items()
        if script in scripts
    ]


def _go(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    if "go.mod" not in files.paths:
        return ()
    return (
        _candidate("go vet", "go vet ./...", "command -v go"),
        _candidate("go tests", "go test ./...", "command -v go"),
    )


def _rust(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    if "Cargo.toml" not in files.paths:
        return ()
    return (_candidate("cargo tests", "cargo test --offline --no-fail-fast", "command -v cargo"),)


def _make(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    targets = {"test": "tests", "check": "tests", "lint": "lint"}
    return [
        _candidate(subject, f"make {target}", "command -v make")
        for target, subject in targets.items()
        if files.mentions("Makefile", rf"^{target}\s*:")
    ]


_FINDERS: tuple[Callable[[RepositoryFiles], Sequence[SuggestedCheck]], ...] = (
    _python,
    _node,
    _go,
    _rust,
    _make,
    _pre_commit,
)


def _candidate(subject: str, command: str, available: str) -> SuggestedCheck:
    return SuggestedCheck(subject, Check(name=subject, run=command), available)
