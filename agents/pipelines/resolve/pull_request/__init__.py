"""The pull request of a resolve run: its words, its measurements, its publication."""

from __future__ import annotations

from agents.pipelines.resolve.pull_request.craft_pr import (
    CRAFT_DRAFT_PR,
    CRAFT_PR,
    craft_draft_pr,
    craft_pr,
)
from agents.pipelines.resolve.pull_request.publish import publish

__all__ = ["CRAFT_DRAFT_PR", "CRAFT_PR", "craft_draft_pr", "craft_pr", "publish"]
