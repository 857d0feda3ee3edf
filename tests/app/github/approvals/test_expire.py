"""When a run ends, its open questions say that nobody can answer them any more."""

from __future__ import annotations

import pytest

from app.github.approvals.expire import OpenQuestions
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs
from tests.app.commands.answering_scene import RUN, GitHubApprovals, make_asking


@pytest.fixture
async def store(scene, database):
    await Runs(database).create(RUN, scene.request)
    return StoredApprovals(database)


@pytest.fixture
def approvals(scene, store):
    made = GitHubApprovals(scene.github, scene.request, RUN, store, scene.redactor)
    made._comment._settle = 0
    return made


@pytest.fixture
def questions(scene, store):
    return OpenQuestions(scene.github, scene.request, RUN, store, scene.redactor, settle=0)


def bodies(scene):
    return [comment.body for comment in scene.issue.comments]


async def test_what_waits_is_withdrawn_and_says_so(scene, store, approvals, questions):
    asked, decided = await approvals.ask(make_asking("c1")), await approvals.ask(make_asking("c2"))
    await store.decide(decided.id, verdict="approved", by="bob", by_id=1, via="terminal")
    await approvals.ask(make_asking("c2"))
    await questions.withdraw()

    assert (await store.get(asked.id)).state == "void"
    assert (await store.get(decided.id)).state == "approved"
    first, second = bodies(scene)
    assert "**Void** since" in first
    assert "Reason: the run has ended" in first
    assert "/bot approve" not in first
    assert "**Approved** by `bob`" in second

    asked_of_github = scene.calls("PATCH", "")
    await questions.withdraw()
    assert scene.calls("PATCH", "") == asked_of_github


async def test_what_a_process_that_died_had_voided_is_shown(scene, store, approvals, questions):
    asked = await approvals.ask(make_asking())
    await store.void(asked.id, "the run has ended")
    await questions.withdraw()

    assert "**Void** since" in bodies(scene)[0]


async def test_without_github_the_run_ends_all_the_same(scene, store, approvals, questions):
    asked = await approvals.ask(make_asking())
    scene.server.faults.status("PATCH", "/comments/", 500, times=10)
    await questions.withdraw()

    assert (await store.get(asked.id)).state == "void"
    assert "**Waiting for a decision.**" in bodies(scene)[0]
