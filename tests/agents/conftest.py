"""An issue, a world of fakes to run it in, and the words of a scripted model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.alerts import MemoryAlerts
from tests.fakes.issues import MemoryTracker
from tests.fakes.model import Killed, ListModel, say, use
from tests.fakes.people import MemoryApprovals, MemorySteering
from tests.fakes.pull_requests import MemoryChecking, MemoryReviewing
from tests.fakes.repository import MemoryHistory
from tests.fakes.requests import build_resolve_issue
from tests.fakes.world import World


@pytest.fixture
def request_():
    """An issue that somebody labelled."""
    return build_resolve_issue()


@pytest.fixture
def make_world():
    """A repository with these files, and a model that gives these answers."""

    def make(files, answers, **more):
        history = MemoryHistory()
        base = history.commit(history.tree(files), "", "start")
        return World(history, base, ListModel(list(answers)), **more)

    return make


@pytest.fixture
def talk():
    """The words of a scripted model."""
    words = {"use": staticmethod(use), "say": staticmethod(say), "Killed": Killed}
    words |= {"Approvals": MemoryApprovals}
    words |= {"Steering": MemorySteering, "Tracker": MemoryTracker}
    words |= {"Reviewing": MemoryReviewing, "Checking": MemoryChecking}
    words |= {"Alerts": MemoryAlerts}
    return type("Talk", (), words)


@pytest.fixture
def prompts():
    """The folder of the pipelines, where the prompts lie."""
    return Path(__file__).parents[2] / "agents" / "pipelines"
