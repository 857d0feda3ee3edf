"""Detect how a repository's dependencies are installed."""

from __future__ import annotations

from agents.analysis.dependency_install.plan import READ, InstallPlan, make_plan
from agents.analysis.dependency_install.python import CAN_MAKE_VENV, MAKE_VENV
from agents.analysis.dependency_install.recipe import TOOLS, VENV, InstallRecipe

__all__ = [
    "CAN_MAKE_VENV",
    "MAKE_VENV",
    "READ",
    "TOOLS",
    "VENV",
    "InstallPlan",
    "InstallRecipe",
    "make_plan",
]
