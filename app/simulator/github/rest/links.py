"""REST endpoints of sub-issues, issue dependencies and branch activity."""

from __future__ import annotations

from app.simulator.github.answers import Answer, Json, invalid, not_found, require_found
from app.simulator.github.calls import Call, Input
from app.simulator.github.changes.links import attach, block
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.issues import issue_json
from app.simulator.github.schemas.links import activity_json
from app.simulator.github.state.world import Issue

routes = Routes()
READ = "issues=read"
WRITE = "issues=write"


class NewSubIssue(Input):
    """Body of an added sub-issue, by its id, which is not its number."""

    sub_issue_id: int


class NewBlocker(Input):
    """Body of an added dependency, by the id of the issue that blocks."""

    issue_id: int


def _plain_issue(call: Call) -> Issue:
    issue = call.issue()
    if issue.pull:
        raise not_found()
    return issue


def _by_id(call: Call, wanted: int, resource: str) -> Issue:
    """Return the issue of this id in any repository; 422 for none."""
    every = (issue for each in call.world.repositories.values() for issue in each.issues.values())
    found = next((issue for issue in every if issue.id == wanted and not issue.pull), None)
    if found is None:
        raise invalid(resource, "id")
    return found


@routes.add("GET", "/issues/{number}/sub_issues", needs=READ)
async def list_sub_issues(call: Call) -> Answer:
    """Return the sub-issues in their order, those of other repositories as well."""
    return call.page([issue_json(call.world, each) for each in _plain_issue(call).sub_issues])


@routes.add("POST", "/issues/{number}/sub_issues", needs=WRITE)
async def add_sub_issue(call: Call) -> Answer:
    """Make an issue the last sub-issue."""
    parent = _plain_issue(call)
    child = _by_id(call, call.parse_body(NewSubIssue).sub_issue_id, "SubIssue")
    attach(call.parts, parent, child, call.actor)
    return Answer(201, issue_json(call.world, child))


@routes.add("GET", "/issues/{number}/parent", needs=READ)
async def get_parent(call: Call) -> Json:
    """Return the issue that this one is a part of."""
    parent = require_found(_plain_issue(call).parent)
    return issue_json(call.world, parent)


@routes.add("GET", "/issues/{number}/dependencies/blocked_by", needs=READ)
async def list_blockers(call: Call) -> Answer:
    """Return the issues that this one waits for, closed ones as well."""
    return call.page([issue_json(call.world, each) for each in _plain_issue(call).blocked_by])


@routes.add("POST", "/issues/{number}/dependencies/blocked_by", needs=WRITE)
async def add_blocker(call: Call) -> Answer:
    """Let the issue wait for another one."""
    blocked = _plain_issue(call)
    blocking = _by_id(call, call.parse_body(NewBlocker).issue_id, "IssueDependency")
    block(call.parts, blocked, blocking, call.actor)
    return Answer(201, issue_json(call.world, blocking))


@routes.add("GET", "/activity", needs="contents=read")
async def list_activity(call: Call) -> Json:
    """Return the newest moves of a ref first; a page has no number here."""
    wanted = call.request.query.get("ref", "")
    names = {wanted, f"refs/heads/{wanted}"}
    found = [each for each in reversed(call.repository.pushes) if not wanted or each.ref in names]
    return [activity_json(call.world, each) for each in found[: call.query_number("per_page", 30)]]
