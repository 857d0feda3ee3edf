"""A run: one pipeline working on one request, each stage done once and recorded."""

from __future__ import annotations

from agents.run.run import Run
from agents.run.stage import Stage, stage
from agents.run.stage_context import StageContext
from agents.run.state import Outcome, Ports, Standing

__all__ = ["Outcome", "Ports", "Run", "Stage", "StageContext", "Standing", "stage"]
