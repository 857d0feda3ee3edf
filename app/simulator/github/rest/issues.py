"""REST endpoints of issues, and of pull requests where they are issues."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.simulator.github.answers import Answer, ApiError, Json, check_text, invalid, require_found
from app.simulator.github.calls import Call, Input
from app.simulator.github.files import in_full
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.issues import (
    FACES,
    comment_json,
    happened_json,
    issue_json,
    label_json,
    reaction_json,
)
from app.simulator.github.schemas.reviews import reviewed_json
from app.simulator.github.state.world import AuthoredText, Comment

routes = Routes()
MOST_ASSIGNEES = 10
READ = "issues=read; pull_requests=read"
WRITE = "issues=write; pull_requests=write"


class NewIssue(Input):
    """Body of a new issue."""

    title: str
    body: str | None = None
    labels: list[str] = Field(default_factory=list)


class IssueEdit(Input):
    """Body of a change of an issue."""

    title: str | None = None
    body: str | None = None
    state: Literal["open", "closed"] | None = None
    state_reason: Literal["completed", "not_planned", "duplicate", "reopened"] | None = None


class Text(Input):
    """Body of a comment."""

    body: str


class Labels(Input):
    """Body of added labels."""

    labels: list[str]


class Assignees(Input):
    """Body of added assignees."""

    assignees: list[str] = Field(default_factory=list)


class ReactionBody(Input):
    """Body of a reaction."""

    content: str


@routes.add("GET", "/issues", needs="issues=read")
async def list_issues(call: Call) -> Answer:
    """Return issues and pull requests, newest first, by state and labels."""
    query = call.request.query
    state, labels = query.get("state", "open"), query.get("labels", "")
    wanted = {name.lower() for name in labels.split(",") if name}
    found = [
        issue_json(call.world, issue)
        for issue in reversed(call.repository.issues.values())
        if state in ("all", issue.state)
        and wanted <= {label.name.lower() for label in issue.labels}
    ]
    return call.page(found)


@routes.add("POST", "/issues", needs="issues=write")
async def create_issue(call: Call) -> Answer:
    """Open an issue."""
    sent = call.parse_body(NewIssue)
    issues = call.parts.issues
    issue = issues.open(call.repository, call.actor, sent.title, sent.body or "", sent.labels)
    return Answer(201, issue_json(call.world, issue))


@routes.add("GET", "/issues/{number}", needs=READ)
async def get_issue(call: Call) -> Json:
    """Return an issue."""
    return in_full(call, issue_json(call.world, call.issue()))


@routes.add("PATCH", "/issues/{number}", needs=WRITE)
async def update_issue(call: Call) -> Json:
    """Change an issue."""
    issue, sent = call.issue(), call.parse_body(IssueEdit)
    call.parts.issues.edit(issue, call.actor, title=sent.title, body=sent.body)
    if sent.state:
        call.parts.issues.set_state(issue, call.actor, sent.state, sent.state_reason)
    return issue_json(call.world, issue)


@routes.add("GET", "/issues/{number}/comments", needs=READ)
async def list_comments(call: Call) -> Answer:
    """Return an issue's comments, oldest first."""
    return call.page([comment_json(call.world, each) for each in call.issue().comments])


@routes.add("POST", "/issues/{number}/comments", needs=WRITE)
async def create_comment(call: Call) -> Answer:
    """Comment on an issue."""
    issue, body = call.issue(), check_text(call.parse_body(Text).body, "IssueComment")
    comment = call.parts.issues.comment(issue, call.actor, body)
    return Answer(201, comment_json(call.world, comment))


def _comment(call: Call) -> Comment:
    return require_found(call.repository.comment(call.number("comment_id")))


@routes.add("GET", "/issues/comments/{comment_id}", needs=READ)
async def get_comment(call: Call) -> Json:
    """Return a comment."""
    return comment_json(call.world, _comment(call))


@routes.add("PATCH", "/issues/comments/{comment_id}", needs=WRITE)
async def update_comment(call: Call) -> Json:
    """Replace a comment's text."""
    comment, body = _comment(call), check_text(call.parse_body(Text).body, "IssueComment")
    call.parts.issues.edit_comment(comment, call.actor, body)
    return comment_json(call.world, comment)


@routes.add("DELETE", "/issues/comments/{comment_id}", needs=WRITE)
async def delete_comment(call: Call) -> Answer:
    """Remove a comment."""
    call.parts.issues.delete_comment(_comment(call), call.actor)
    return Answer(204, None)


@routes.add("GET", "/issues/{number}/labels", needs=READ)
async def list_labels(call: Call) -> Answer:
    """Return an issue's labels."""
    labels = call.issue().labels
    return call.page([label_json(call.world, call.repository, each) for each in labels])


@routes.add("POST", "/issues/{number}/labels", needs=WRITE)
async def add_labels(call: Call) -> Json:
    """Put labels on; those that the repository lacks are made."""
    issue = call.issue()
    call.parts.issues.add_labels(issue, call.actor, call.parse_body(Labels).labels)
    return [label_json(call.world, call.repository, each) for each in issue.labels]


@routes.add("POST", "/issues/{number}/assignees", needs=WRITE)
async def add_assignees(call: Call) -> Answer:
    """Assign people, at most ten; who has no access is passed over in silence."""
    issue, sent = call.issue(), call.parse_body(Assignees)
    repository = call.repository
    found = [call.world.account(login) for login in sent.assignees]
    members = [
        each for each in found if each and (each is repository.owner or each.id in repository.roles)
    ]
    room = MOST_ASSIGNEES - len(issue.assignees)
    call.parts.issues.assign(issue, call.actor, members[:room])
    return Answer(201, issue_json(call.world, issue))


@routes.add("DELETE", "/issues/{number}/labels/{name}", needs=WRITE)
async def remove_label(call: Call) -> Json:
    """Take a label off."""
    issue, name = call.issue(), call.request.match_info["name"].lower()
    label = next((each for each in issue.labels if each.name.lower() == name), None)
    if label is None:
        raise ApiError(404, "Label does not exist")
    call.parts.issues.remove_label(issue, call.actor, label)
    return [label_json(call.world, call.repository, each) for each in issue.labels]


@routes.add("GET", "/issues/{number}/timeline", needs=READ)
async def list_timeline(call: Call) -> Answer:
    """Return comments and events, oldest first."""
    issue = call.issue()
    found = happened_json(call.world, issue)
    reviews = issue.pull.reviews if issue.pull else []
    found += [(each.id, reviewed_json(call.world, each)) for each in reviews]
    return call.page([shape for _, shape in sorted(found, key=lambda pair: pair[0])])


@routes.add("GET", "/issues/{number}/reactions", needs=READ)
async def list_reactions(call: Call) -> Answer:
    """Return an issue's reactions."""
    return call.page([reaction_json(call.world, each) for each in call.issue().reactions])


@routes.add("POST", "/issues/{number}/reactions", needs=WRITE)
async def react_to_issue(call: Call) -> Answer:
    """React to an issue: 201, or 200 when it stood already."""
    return react(call, call.issue())


@routes.add("POST", "/issues/comments/{comment_id}/reactions", needs=WRITE)
async def react_to_comment(call: Call) -> Answer:
    """React to a comment: 201, or 200 when it stood already."""
    return react(call, _comment(call))


@routes.add("GET", "/issues/comments/{comment_id}/reactions", needs=READ)
async def list_comment_reactions(call: Call) -> Answer:
    """Return a comment's reactions."""
    return call.page([reaction_json(call.world, each) for each in _comment(call).reactions])


def react(call: Call, written: AuthoredText) -> Answer:
    """React: 201, or 200 when it stood already; 422 for an unknown face."""
    content = call.parse_body(ReactionBody).content
    if content not in FACES:
        raise invalid("Reaction", "content")
    reaction, new = call.parts.issues.react(written, call.actor, content)
    return Answer(201 if new else 200, reaction_json(call.world, reaction))
