"""Ports: the interfaces that `app/` implements for the agents, and tests fake."""

from __future__ import annotations

from agents.ports.alerts import Advisory, Alerts, AlertState, Knowledge, OtherPull
from agents.ports.approvals import Approval, Approvals, ApprovalState, Asking
from agents.ports.ci_checks import Checking, Ending, ForeignCheck
from agents.ports.durable_steps import Steps
from agents.ports.external import Forge, Manner, Page, Toolsets, Web
from agents.ports.flaky_tests import FlakySighting, FlakyTest, FlakyTests
from agents.ports.guidance import DeniedCall, GatheredEvidence, GuidanceEvidence, GuidanceRecords
from agents.ports.issues import (
    DECISION,
    EarlierPull,
    LinkedIssue,
    NeighbourPull,
    NewSubIssue,
    Picture,
    Pictures,
    Remark,
    Remarks,
    SubIssue,
    Tracker,
)
from agents.ports.journal import Journal, Ruling, Turn
from agents.ports.json_types import Block, Json
from agents.ports.model import Answer, Capabilities, Model, Query, Usage
from agents.ports.publishing import Publisher, PullRequest, Reporter, Signer, StepState
from agents.ports.repository import (
    CommandResult,
    Kit,
    Merged,
    Network,
    SetupCommand,
    SetupResult,
    Source,
    WorkTree,
)
from agents.ports.reviews import (
    STILL_WAITING,
    Batch,
    Feedback,
    PullSnapshot,
    Reviewing,
    ReviewText,
    Suggested,
    Thread,
    ThreadComment,
)
from agents.ports.steering import Steer, Steering, SteerKind, SteerVia

__all__ = [
    "DECISION",
    "STILL_WAITING",
    "Advisory",
    "AlertState",
    "Alerts",
    "Answer",
    "Approval",
    "ApprovalState",
    "Approvals",
    "Asking",
    "Batch",
    "Block",
    "Capabilities",
    "Checking",
    "CommandResult",
    "DeniedCall",
    "EarlierPull",
    "Ending",
    "Feedback",
    "FlakySighting",
    "FlakyTest",
    "FlakyTests",
    "ForeignCheck",
    "Forge",
    "GatheredEvidence",
    "GuidanceEvidence",
    "GuidanceRecords",
    "Journal",
    "Json",
    "Kit",
    "Knowledge",
    "LinkedIssue",
    "Manner",
    "Merged",
    "Model",
    "NeighbourPull",
    "Network",
    "NewSubIssue",
    "OtherPull",
    "Page",
    "Picture",
    "Pictures",
    "Publisher",
    "PullRequest",
    "PullSnapshot",
    "Query",
    "Remark",
    "Remarks",
    "Reporter",
    "ReviewText",
    "Reviewing",
    "Ruling",
    "SetupCommand",
    "SetupResult",
    "Signer",
    "Source",
    "Steer",
    "SteerKind",
    "SteerVia",
    "Steering",
    "StepState",
    "Steps",
    "SubIssue",
    "Suggested",
    "Thread",
    "ThreadComment",
    "Toolsets",
    "Tracker",
    "Turn",
    "Usage",
    "Web",
    "WorkTree",
]
