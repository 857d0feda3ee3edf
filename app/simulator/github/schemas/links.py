"""Sub-issues, branch activity and attached files as GitHub's REST API and webhooks show them."""

from __future__ import annotations

from typing import Any

from app.simulator.github.schemas.common import account_json, moment
from app.simulator.github.state.world import Issue, World
from app.simulator.github.traces import Push

Json = Any
ZERO = "0" * 40


def links_json(world: World, issue: Issue) -> Json:
    """Return what `issue` says about its sub-issues, its parent and what it waits for."""
    total = len(issue.sub_issues)
    done = sum(each.state == "closed" for each in issue.sub_issues)
    every = [each for each in issue.repository.issues.values() if issue in each.blocked_by]
    shape: dict[str, Json] = {
        "sub_issues_summary": {
            "total": total,
            "completed": done,
            "percent_completed": 100 * done // total if total else 0,
        },
        "issue_dependencies_summary": {
            "blocked_by": sum(each.state == "open" for each in issue.blocked_by),
            "blocking": sum(each.state == "open" for each in every),
            "total_blocked_by": len(issue.blocked_by),
            "total_blocking": len(every),
        },
    }
    if issue.parent:
        full_name = issue.parent.repository.full_name
        shape["parent_issue_url"] = f"{world.api}/repos/{full_name}/issues/{issue.parent.number}"
    return shape


def activity_json(world: World, push: Push) -> Json:
    """Return `activity`."""
    kinds = {push.before == ZERO: "branch_creation", push.after == ZERO: "branch_deletion"}
    return {
        "id": push.id,
        "node_id": push.node_id,
        "before": push.before,
        "after": push.after,
        "ref": push.ref,
        "timestamp": moment(push.created_at),
        "activity_type": kinds.get(True, "force_push" if push.forced else "push"),
        "actor": account_json(world, push.actor.account),
    }
