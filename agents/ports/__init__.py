"""The ports: what the workshop needs of the machine. `app/` implements them, tests fake them."""

from __future__ import annotations

from agents.ports.approvals import Approval, Approvals, ApprovalState, Asking
from agents.ports.journal import Journal, Turn
from agents.ports.model import Answer, Model, Query, Usage
from agents.ports.outside import Forge, Manner, Page, Toolsets, Web
from agents.ports.people import Publisher, PullRequest, Reporter, StepState
from agents.ports.steps import Steps
from agents.ports.tree import CommandResult, SetupCommand, SetupResult, Source, WorkTree
from agents.ports.values import Block, Json

__all__ = [
    "Answer",
    "Approval",
    "ApprovalState",
    "Approvals",
    "Asking",
    "Block",
    "CommandResult",
    "Forge",
    "Journal",
    "Json",
    "Manner",
    "Model",
    "Page",
    "Publisher",
    "PullRequest",
    "Query",
    "Reporter",
    "SetupCommand",
    "SetupResult",
    "Source",
    "StepState",
    "Steps",
    "Toolsets",
    "Turn",
    "Usage",
    "Web",
    "WorkTree",
]
