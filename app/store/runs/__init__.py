"""Runs: what was asked, their turns, the approvals they wait for, and how they ended."""

from __future__ import annotations

from app.store.lease import find_silent_since
from app.store.runs.approvals import ApprovalDecision, StoredApprovals
from app.store.runs.checkpoints import StoredCheckpoints
from app.store.runs.history import GIVEN_UP, History, KeptRun, KeptStep, KeptTurn, RunProgress
from app.store.runs.lanes import LIVE, LOOKS, LaneRun, Lanes
from app.store.runs.places import QueuedRun, QueueState, RunPlaces, look_at_queue
from app.store.runs.runs import OPEN, Runs, count_by_state
from app.store.runs.steers import ANEW, StoredSteers
from app.store.runs.turns import StoredJournal, find_midnight, recorded_sessions

__all__ = [
    "ANEW",
    "GIVEN_UP",
    "LIVE",
    "LOOKS",
    "OPEN",
    "ApprovalDecision",
    "History",
    "KeptRun",
    "KeptStep",
    "KeptTurn",
    "LaneRun",
    "Lanes",
    "QueueState",
    "QueuedRun",
    "RunPlaces",
    "RunProgress",
    "Runs",
    "StoredApprovals",
    "StoredCheckpoints",
    "StoredJournal",
    "StoredSteers",
    "count_by_state",
    "find_midnight",
    "find_silent_since",
    "look_at_queue",
    "recorded_sessions",
]
