"""The state as GraphQL objects: dictionaries whose keys are the fields of schema.graphql."""

from __future__ import annotations

import re
from typing import Any

from app.simulator.github.accounts import Label
from app.simulator.github.graphql.parts import actor_node, connection, written_node
from app.simulator.github.graphql.reviews import review_node, reviewed_fields
from app.simulator.github.schemas.common import maybe_moment, moment
from app.simulator.github.schemas.issues import page_url
from app.simulator.github.state.world import Comment, Happening, Issue, Pull, Repository, World
from app.simulator.github.tokens import Token

Json = Any
EVENT_TYPES = {
    "closed": "ClosedEvent",
    "convert_to_draft": "ConvertToDraftEvent",
    "cross-referenced": "CrossReferencedEvent",
    "labeled": "LabeledEvent",
    "merged": "MergedEvent",
    "ready_for_review": "ReadyForReviewEvent",
    "renamed": "RenamedTitleEvent",
    "reopened": "ReopenedEvent",
    "review_dismissed": "ReviewDismissedEvent",
    "review_requested": "ReviewRequestedEvent",
    "review_request_removed": "ReviewRequestRemovedEvent",
    "unlabeled": "UnlabeledEvent",
}
ITEM_TYPES = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper(): name
    for name in (*EVENT_TYPES.values(), "IssueComment", "PullRequestReview")
}


def repository_node(world: World, repository: Repository) -> dict[str, Json]:
    """Return `Repository` without what has to be asked for by number or name."""
    parent = repository.parent
    return {
        "__typename": "Repository",
        "id": repository.node_id,
        "databaseId": repository.id,
        "name": repository.name,
        "nameWithOwner": repository.full_name,
        "owner": actor_node(world, repository.owner),
        "url": f"{world.url}/{repository.full_name}",
        "isPrivate": repository.private,
        "isFork": repository.parent is not None,
        "parent": lambda _info: parent and repository_node(world, parent),
        "isArchived": False,
        "isDisabled": False,
        "isLocked": False,
    }


def issue_node(world: World, issue: Issue, token: Token) -> Json:
    """Return `Issue`, or `PullRequest` when it is one, as the token sees it."""
    if issue.pull:
        told = _pull_fields(world, issue.pull) | reviewed_fields(world, issue.pull, token)
        return _common(world, issue) | told
    reason = issue.state_reason
    return _common(world, issue) | {
        "__typename": "Issue",
        "state": issue.state.upper(),
        "stateReason": lambda _info, **_: reason.upper() if reason else None,
    }


def _common(world: World, issue: Issue) -> dict[str, Json]:
    repository = issue.repository
    return written_node(world, issue) | {
        "number": issue.number,
        "title": issue.title,
        "bodyText": issue.body,
        "url": page_url(world, issue),
        "closed": issue.state == "closed",
        "closedAt": maybe_moment(issue.closed_at),
        "locked": False,
        "labels": connection([_label(each) for each in issue.labels]),
        "comments": connection([comment_node(world, each) for each in issue.comments]),
        "timelineItems": lambda _info, **chosen: _timeline(world, issue, **chosen),
        "repository": lambda _info: repository_node(world, repository),
    }


def _pull_fields(world: World, pull: Pull) -> dict[str, Json]:
    merged, source = pull.merged, pull.head_repository
    return {
        "__typename": "PullRequest",
        "id": pull.node_id,
        "databaseId": pull.id,
        "fullDatabaseId": str(pull.id),
        "state": "MERGED" if merged else pull.issue.state.upper(),
        "isDraft": pull.draft,
        "isCrossRepository": pull.crosses,
        "maintainerCanModify": pull.maintainer_can_modify,
        "headRepository": lambda _info: source and repository_node(world, source),
        "headRepositoryOwner": actor_node(world, pull.head_owner),
        "merged": merged is not None,
        "mergedAt": maybe_moment(merged.at if merged else None),
        "mergedBy": actor_node(world, merged.by if merged else None),
        "mergeable": lambda _info: _mergeable(pull),
        "baseRefName": pull.base,
        "baseRefOid": pull.base_sha,
        "headRefName": pull.head,
        "headRefOid": pull.head_sha,
        "additions": pull.facts.additions,
        "deletions": pull.facts.deletions,
        "changedFiles": pull.facts.changed_files,
    }


def _mergeable(pull: Pull) -> str:
    """Return what is known by now: asking has GitHub find out."""
    known, pull.asked = pull.mergeable, True
    words = {True: "MERGEABLE", False: "CONFLICTING", None: "UNKNOWN"}
    return words[known]


def comment_node(world: World, comment: Comment) -> Json:
    """Return `IssueComment`."""
    url = f"{page_url(world, comment.issue)}#issuecomment-{comment.id}"
    return {"__typename": "IssueComment", "url": url} | written_node(world, comment)


def label_node(label: Label | None) -> Json:
    """Return `Label`."""
    return _label(label) if label else None


def _label(label: Label) -> Json:
    return {
        "__typename": "Label",
        "id": label.node_id,
        "name": label.name,
        "color": label.color,
        "description": label.description,
    }


def _to_event(world: World, happening: Happening) -> Json:
    old, new = happening.rename or ("", "")
    review = happening.review
    return {
        "__typename": EVENT_TYPES[happening.event],
        "id": happening.node_id,
        "actor": actor_node(world, happening.actor.account),
        "createdAt": moment(happening.created_at),
        "label": label_node(happening.label),
        "previousTitle": old,
        "currentTitle": new,
        "requestedReviewer": actor_node(world, happening.reviewer),
        "review": review and review_node(world, review),
        "dismissalMessage": review and review.dismissal,
    }


def _timeline(world: World, issue: Issue, **chosen: Json) -> Json:
    known = [each for each in issue.timeline if each.event in EVENT_TYPES]
    nodes = [(each.id, _to_event(world, each)) for each in known]
    nodes += [(each.id, comment_node(world, each)) for each in issue.comments]
    reviews = issue.pull.reviews if issue.pull else []
    nodes += [(each.id, review_node(world, each)) for each in reviews]
    in_order = [node for _, node in sorted(nodes, key=lambda pair: pair[0])]
    wanted = {ITEM_TYPES[each] for each in chosen.pop("itemTypes", None) or ITEM_TYPES}
    fitting = [node for node in in_order if node["__typename"] in wanted]
    return connection(fitting)(None, **chosen)
