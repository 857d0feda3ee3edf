"""GitHub's own descriptions judge webhooks and queries about reviews, forks and checks."""

from __future__ import annotations

import json

import graphql
import pytest

from app.simulator.github.graphql.api import schema
from tests.referees.review_calls import (
    DOCUMENTS,
    make_actions_calls,
    make_fork_calls,
    make_review_calls,
)

EVENTS = (
    "check_run",
    "check_suite",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "status",
    "workflow_run",
)
SENT = {
    ("check_run", "completed"),
    ("check_run", "created"),
    ("check_suite", "completed"),
    ("pull_request", "closed"),
    ("pull_request", "review_request_removed"),
    ("pull_request", "review_requested"),
    ("pull_request", "synchronize"),
    ("pull_request_review", "dismissed"),
    ("pull_request_review", "edited"),
    ("pull_request_review", "submitted"),
    ("pull_request_review_comment", "created"),
    ("pull_request_review_comment", "deleted"),
    ("pull_request_review_comment", "edited"),
    ("pull_request_review_thread", "resolved"),
    ("pull_request_review_thread", "unresolved"),
    ("status", None),
    ("workflow_run", "completed"),
}


async def test_what_is_asked_and_sent_fits_githubs_descriptions(
    scene, rest_referee, webhook_referee
):
    github = scene.github
    github.world.apps[scene.credentials.app_id].events[:] = EVENTS
    await make_review_calls(scene)
    await make_actions_calls(scene)
    await make_fork_calls(scene)
    await github.webhooks.wait_until_settled()

    problems = rest_referee.problems(github.requests)
    assert not problems, "\n".join(sorted(set(problems)))
    sent = {(each.event, json.loads(each.payload).get("action")) for each in github.webhooks.log}
    assert sent >= SENT
    problems = webhook_referee.problems(github.webhooks.log)
    assert not problems, "\n".join(sorted(set(problems)))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_queries_asked_here_are_valid_there(real_schema, document):
    parsed = graphql.parse(document)
    assert graphql.validate(real_schema, parsed) == []
    assert graphql.validate(schema(), parsed) == []
