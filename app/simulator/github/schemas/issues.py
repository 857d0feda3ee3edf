"""Issues, comments, labels and events as GitHub's REST API and webhooks show them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from app.simulator.github.accounts import Account, Label, Reaction
from app.simulator.github.schemas.common import account_json, maybe_moment, moment, via_json
from app.simulator.github.schemas.links import links_json
from app.simulator.github.state.reviews import Review
from app.simulator.github.state.world import (
    AuthoredText,
    Comment,
    Happening,
    Issue,
    Repository,
    World,
)

Json = Any
FACES = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
DEFAULT_LABELS = {"bug", "documentation", "enhancement", "question", "good first issue"}


def association(repository: Repository, account: Account) -> str:
    """Return GitHub's `author_association`."""
    if account is repository.owner:
        return "OWNER"
    return "COLLABORATOR" if account.id in repository.roles else "NONE"


def label_json(world: World, repository: Repository, label: Label) -> Json:
    """Return `label`."""
    return {
        "id": label.id,
        "node_id": label.node_id,
        "url": f"{world.api}/repos/{repository.full_name}/labels/{label.name}",
        "name": label.name,
        "description": label.description,
        "color": label.color,
        "default": label.name in DEFAULT_LABELS,
    }


def reaction_json(world: World, reaction: Reaction) -> Json:
    """Return `reaction`."""
    return {
        "id": reaction.id,
        "node_id": reaction.node_id,
        "user": account_json(world, reaction.user),
        "content": reaction.content,
        "created_at": moment(reaction.created_at),
    }


def issue_url(world: World, issue: Issue) -> str:
    """Return the API address of an issue."""
    return f"{world.api}/repos/{issue.repository.full_name}/issues/{issue.number}"


def page_url(world: World, issue: Issue) -> str:
    """Return the address where people read an issue or a pull request."""
    kind = "pull" if issue.pull else "issues"
    return f"{world.url}/{issue.repository.full_name}/{kind}/{issue.number}"


def assignees_json(world: World, issue: Issue) -> Json:
    """Return who is assigned, and the first of them as older clients want it."""
    assigned = [account_json(world, each) for each in issue.assignees]
    return {"assignee": assigned[0] if assigned else None, "assignees": assigned}


def issue_json(world: World, issue: Issue) -> Json:
    """Return `issue`."""
    repository, url = issue.repository, issue_url(world, issue)
    shape = {
        "id": issue.id,
        "node_id": issue.node_id,
        "number": issue.number,
        "title": issue.title,
        "state": issue.state,
        "state_reason": issue.state_reason,
        "locked": False,
        "active_lock_reason": None,
        "body": issue.body,
        "user": account_json(world, issue.author.account),
        "author_association": association(repository, issue.author.account),
        "labels": [label_json(world, repository, each) for each in issue.labels],
        **assignees_json(world, issue),
        "milestone": None,
        "comments": len(issue.comments),
        "created_at": moment(issue.created_at),
        "updated_at": moment(issue.updated_at),
        "closed_at": maybe_moment(issue.closed_at),
        "closed_by": account_json(world, issue.closed_by) if issue.closed_by else None,
        "reactions": reactions_json(url, issue),
        "performed_via_github_app": via_json(world, issue.author.app),
        "url": url,
        "html_url": page_url(world, issue),
        "repository_url": f"{world.api}/repos/{repository.full_name}",
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
    }
    return shape | (_pull_part(world, issue) if issue.pull else links_json(world, issue))


def _pull_part(world: World, issue: Issue) -> Json:
    assert issue.pull
    page, merged = page_url(world, issue), issue.pull.merged
    links = {
        "url": f"{world.api}/repos/{issue.repository.full_name}/pulls/{issue.number}",
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "merged_at": maybe_moment(merged.at if merged else None),
    }
    return {"pull_request": links, "draft": issue.pull.draft}


def comment_json(world: World, comment: Comment) -> Json:
    """Return `issue-comment`."""
    repository = comment.repository
    url = f"{world.api}/repos/{repository.full_name}/issues/comments/{comment.id}"
    return {
        "id": comment.id,
        "node_id": comment.node_id,
        "url": url,
        "html_url": f"{page_url(world, comment.issue)}#issuecomment-{comment.id}",
        "issue_url": issue_url(world, comment.issue),
        "body": comment.body,
        "user": account_json(world, comment.author.account),
        "author_association": association(repository, comment.author.account),
        "created_at": moment(comment.created_at),
        "updated_at": moment(comment.updated_at),
        "reactions": reactions_json(url, comment),
        "performed_via_github_app": via_json(world, comment.author.app),
    }


def happening_json(world: World, issue: Issue, happening: Happening) -> Json:
    """Return one of the timeline's event objects."""
    shape: dict[str, Json] = {
        "id": happening.id,
        "node_id": happening.node_id,
        "url": f"{world.api}/repos/{issue.repository.full_name}/issues/events/{happening.id}",
        "actor": account_json(world, happening.actor.account),
        "event": happening.event,
        "commit_id": None,
        "commit_url": None,
        "created_at": moment(happening.created_at),
        "performed_via_github_app": via_json(world, happening.actor.app),
    }
    if happening.label:
        shape["label"] = {"name": happening.label.name, "color": happening.label.color}
    if happening.rename:
        shape["rename"] = dict(zip(("from", "to"), happening.rename, strict=True))
    if happening.source:
        shape["source"] = {"type": "issue", "issue": issue_json(world, happening.source)}
        shape["updated_at"] = shape["created_at"]
    if happening.reviewer:
        shape["requested_reviewer"] = account_json(world, happening.reviewer)
        shape["review_requester"] = shape["actor"]
    if happening.review:
        shape["dismissed_review"] = _dismissal_json(happening.review)
    if happening.event == "merged" and issue.pull and issue.pull.merged:
        shape["commit_id"] = issue.pull.merged.commit
        root = f"{world.api}/repos/{issue.repository.full_name}"
        shape["commit_url"] = f"{root}/commits/{issue.pull.merged.commit}"
    if happening.event == "closed":
        shape["state_reason"] = issue.state_reason
    return shape


def _dismissal_json(review: Review) -> Json:
    return {
        "state": "dismissed",
        "review_id": review.id,
        "dismissal_message": review.dismissal,
    }


def happened_json(world: World, issue: Issue) -> list[tuple[int, Json]]:
    """Return comments and events, each with what puts it into order."""
    comments = [
        (comment.id, comment_json(world, comment) | _as_event(world, comment))
        for comment in issue.comments
    ]
    events = [(each.id, happening_json(world, issue, each)) for each in issue.timeline]
    return comments + events


def _as_event(world: World, comment: Comment) -> Json:
    return {"event": "commented", "actor": account_json(world, comment.author.account)}


def reactions_json(url: str, written: AuthoredText) -> Json:
    """Return `reaction-rollup`."""
    counted = Counter(each.content for each in written.reactions)
    counts = {face: counted[face] for face in FACES}
    return {"url": f"{url}/reactions", "total_count": counted.total(), **counts}
