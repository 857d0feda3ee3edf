"""An install recipe: the commands for one ecosystem, and the files and tools they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

VENV = "/setup/venv"
"""The virtual environment: outside the tree, at the place where runs see it later, because
environments know their own path."""

TOOLS = "/setup/tools"
"""Where an installer is put that sandboxes do not have."""


@dataclass(frozen=True)
class InstallRecipe:
    """How the dependencies of one ecosystem are installed."""

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
