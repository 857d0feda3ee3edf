"""Languages: how projects of each are installed and checked, found by the look of their files."""

from __future__ import annotations

from agents.analysis.languages.checked import (
    NamedCommand,
    find_unchecked,
    is_code,
    list_families,
    list_manifests,
    list_touched,
    name_language,
)
from agents.analysis.languages.python import CAN_MAKE_VENV, MAKE_VENV, place_venv
from agents.analysis.languages.recipe import TOOLS, VENV, InstallRecipe, SuggestedCheck
from agents.analysis.languages.registry import (
    InstallPlan,
    find_folder,
    go_to,
    list_read_paths,
    list_suggestions,
    list_venvs,
    make_plan,
)

__all__ = [
    "CAN_MAKE_VENV",
    "MAKE_VENV",
    "TOOLS",
    "VENV",
    "InstallPlan",
    "InstallRecipe",
    "NamedCommand",
    "SuggestedCheck",
    "find_folder",
    "find_unchecked",
    "go_to",
    "is_code",
    "list_families",
    "list_manifests",
    "list_read_paths",
    "list_suggestions",
    "list_touched",
    "list_venvs",
    "make_plan",
    "name_language",
    "place_venv",
]
