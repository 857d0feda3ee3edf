"""A run: one pipeline working on one request, each stage done once and recorded."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from agents.run.stage import PartResult, Stage, stage
from agents.run.state import Outcome, RunPorts, RunState

if TYPE_CHECKING:
    from agents.run.run import Run
    from agents.run.stage_context import StageContext

__all__ = ["Outcome", "PartResult", "Run", "RunPorts", "RunState", "Stage", "StageContext", "stage"]

# The loop and its tools take megabytes, and a server at rest knows runs by their outcome alone.
_LATER = {"Run": "agents.run.run", "StageContext": "agents.run.stage_context"}

if not TYPE_CHECKING:  # or mypy would take any name for one of this package

    def __getattr__(name: str) -> object:
        """Import what only the work on a run needs, once it is asked for."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_LATER[name]), name)
