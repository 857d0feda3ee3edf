"""The rules beside the people: nobody who may not write begins work, in whatever way they ask."""

from __future__ import annotations

import pytest

from agents.requests import AddressReview, FixChecks, RemediateAlert, ResolveIssue, UpdateBranch
from handlers import ROUTES
from handlers.access import alerts, issues, pull_requests
from handlers.access.policy import WITHOUT_ASKER
from tests.fakes.requests import (
    build_address_review,
    build_fix_checks,
    build_remediate_alert,
    build_resolve_issue,
    build_update_branch,
)

OUTSIDERS = {
    "a triager": {"role_name": "triage", "permission": "read"},
    "a reader": {"role_name": "read", "permission": "read"},
    "a stranger": {"role_name": "", "permission": ""},
}
BUILDERS = {
    ResolveIssue: build_resolve_issue,
    AddressReview: build_address_review,
    UpdateBranch: build_update_branch,
    FixChecks: build_fix_checks,
    RemediateAlert: build_remediate_alert,
}
WAYS = [
    (kind, via)
    for kind in BUILDERS
    for via in kind.model_fields["via"].annotation.__args__
    if via not in WITHOUT_ASKER
]


def judge(request, who):
    """Return what the rules say of a request that nothing else speaks against."""
    match request:
        case ResolveIssue():
            return issues.decide(request, issues.IssueFacts(labels=(request.label,), **who))
        case RemediateAlert():
            return alerts.asked_by_people(request, issues.AskerFacts(**who))
    stands = {"review_state": "commented", "has_substance": True, "reviewed": True, "own": True}
    stands["head"] = getattr(request, "head", "")
    return pull_requests.decide(request, pull_requests.PullFacts(**stands, **who))


@pytest.mark.parametrize("who", OUTSIDERS)
@pytest.mark.parametrize(("kind", "via"), WAYS)
def test_who_may_not_write_begins_no_work(kind, via, who):
    request = BUILDERS[kind](via=via)
    refusal = judge(request, OUTSIDERS[who])
    assert refusal.rule == "asker-may-write"
    for did in ("took", "closed", "cancelled"):
        assert f"`{request.asked_by.login}` {did}" not in refusal.text
    assert judge(request, {"role_name": "write", "permission": "write"}) is None


BY_PEOPLE = {
    "issues": {"labeled", "unlabeled", "closed", "edited"},
    "issue_comment": {"created"},
    "check_run": {"requested_action", "rerequested"},
    "pull_request": {"labeled", "unlabeled", "closed"},
    "pull_request_review": {"submitted"},
}
"""What people do to have something done. Commands: tests/app/commands/test_access_first.py; boxes
of dashboards: tests/app/board/test_dashboard.py."""
OF_ITSELF = {
    "issues": {"opened"},  # by owners alone: tests/handlers/test_issues.py
    "pull_request": {"opened", "synchronize", "reopened", "ready_for_review"},  # the policy's check
    "check_suite": {"completed"},
    "dependabot_alert": {
        *("created", "reopened", "reintroduced", "auto_reopened"),
        *("fixed", "dismissed", "auto_dismissed"),
    },
}
"""What begins nothing in anybody's name."""
OWNERS = {"installation", "installation_repositories", "installation_target", "repository"}
"""Events that only owners cause."""


def test_every_event_stands_in_this_table():
    table = {(event, action) for event, actions in BY_PEOPLE.items() for action in actions}
    table |= {(event, action) for event, actions in OF_ITSELF.items() for action in actions}
    assert {each for each in ROUTES if each[0] not in OWNERS and each[0] != "internal"} == table
