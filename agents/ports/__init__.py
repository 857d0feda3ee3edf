"""The ports: what the workshop needs of the machine. `app/` implements them, tests fake them."""

from __future__ import annotations

from agents.ports.approvals import Approval, Approvals, ApprovalState, Asking
from agents.ports.journal import Journal, Turn
from agents.ports.model import Answer, Model, Query, Usage
from agents.ports.outside import Forge, Manner, Page, Toolsets, Web
from agents.ports.people import Publisher, PullRequest, Reporter, StepState
from agents.ports.steering import Steer, Steering
from agents.ports.steps import Steps
from agents.ports.tracker import (
    EarlierPull,
    LinkedIssue,
    NewSubIssue,
    Picture,
    Pictures,
    Remark,
    Remarks,
    SubIssue,
    Tracker,
)
from agents.ports.tree import CommandResult, Network, SetupCommand, SetupResult, Source, WorkTree
from agents.ports.values import Block, Json

__all__ = [
    "Answer",
    "Approval",
    "ApprovalState",
    "Approvals",
    "Asking",
    "Block",
    "CommandResult",
    "EarlierPull",
    "Forge",
    "Journal",
    "Json",
    "LinkedIssue",
    "Manner",
    "Model",
    "Network",
    "NewSubIssue",
    "Page",
    "Picture",
    "Pictures",
    "Publisher",
    "PullRequest",
    "Query",
    "Remark",
    "Remarks",
    "Reporter",
    "SetupCommand",
    "SetupResult",
    "Source",
    "Steer",
    "Steering",
    "StepState",
    "Steps",
    "SubIssue",
    "Toolsets",
    "Tracker",
    "Turn",
    "Usage",
    "Web",
    "WorkTree",
]
