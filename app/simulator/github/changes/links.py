"""Link issues as sub-issues or as blockers of each other, and deliver webhooks."""

from __future__ import annotations

from app.simulator.github.accounts import Actor
from app.simulator.github.answers import custom
from app.simulator.github.calls import Parts
from app.simulator.github.schemas.common import repository_json
from app.simulator.github.schemas.issues import issue_json
from app.simulator.github.state.world import Issue

MOST_SUB_ISSUES = 100


def attach(parts: Parts, parent: Issue, child: Issue, actor: Actor) -> None:
    """Make an issue the last sub-issue of another; Refused 422 as GitHub words it."""
    if parent.repository.owner is not child.repository.owner:
        raise custom("SubIssue", "Sub-issue must belong to the same repository owner")
    if child.parent is not None:
        taken = "duplicate sub-issues" if child.parent is parent else "may only have one parent"
        raise custom("SubIssue", f"Issue may not contain {taken}")
    if child is parent or child in _ancestors(parent):
        raise custom("SubIssue", "Sub-issue may not create a circular dependency")
    if len(parent.sub_issues) >= MOST_SUB_ISSUES:
        raise custom("SubIssue", "Parent cannot have more than 100 sub-issues")
    parent.sub_issues.append(child)
    child.parent = parent
    world = parts.world
    both = {
        "sub_issue_id": child.id,
        "sub_issue": issue_json(world, child),
        "parent_issue_id": parent.id,
        "parent_issue": issue_json(world, parent),
    }
    added = both | {"sub_issue_repo": repository_json(world, child.repository)}
    got = both | {"parent_issue_repo": repository_json(world, parent.repository)}
    announce = parts.webhooks.announce
    announce(parent.repository, "sub_issues", actor, {"action": "sub_issue_added", **added})
    announce(child.repository, "sub_issues", actor, {"action": "parent_issue_added", **got})


def block(parts: Parts, blocked: Issue, blocking: Issue, actor: Actor) -> None:
    """Let one issue wait for another; Refused 422 for itself and for the same one twice."""
    if blocking is blocked or blocking in blocked.blocked_by:
        raise custom("IssueDependency", "Target issue has already been taken")
    blocked.blocked_by.append(blocking)
    world, event = parts.world, "issue_dependencies"
    both = {
        "blocked_issue_id": blocked.id,
        "blocked_issue": issue_json(world, blocked),
        "blocking_issue_id": blocking.id,
        "blocking_issue": issue_json(world, blocking),
        "blocking_issue_repo": repository_json(world, blocking.repository),
        "blocked_issue_repo": repository_json(world, blocked.repository),
    }
    waits = {key: value for key, value in both.items() if key != "blocked_issue_repo"}
    holds = {key: value for key, value in both.items() if key != "blocking_issue_repo"}
    announce = parts.webhooks.announce
    announce(blocked.repository, event, actor, {"action": "blocked_by_added", **waits})
    announce(blocking.repository, event, actor, {"action": "blocking_added", **holds})


def _ancestors(issue: Issue) -> list[Issue]:
    found: list[Issue] = []
    above = issue.parent
    while above is not None:
        found.append(above)
        above = above.parent
    return found
