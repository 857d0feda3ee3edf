"""The state as GraphQL objects: plain dictionaries whose keys are the fields of schema.graphql."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from app.local.github.accounts import Account, Label
from app.local.github.shapes import account_page, maybe_moment, moment
from app.local.github.shapes_issues import page_url
from app.local.github.state import Comment, Happening, Issue, Pull, Repository, World, Written

Json = Any
MOST_NODES = 100
EVENT_TYPES = {
    "closed": "ClosedEvent",
    "convert_to_draft": "ConvertToDraftEvent",
    "cross-referenced": "CrossReferencedEvent",
    "labeled": "LabeledEvent",
    "ready_for_review": "ReadyForReviewEvent",
    "renamed": "RenamedTitleEvent",
    "reopened": "ReopenedEvent",
    "unlabeled": "UnlabeledEvent",
}
ITEM_TYPES = {
    "CLOSED_EVENT": "ClosedEvent",
    "CONVERT_TO_DRAFT_EVENT": "ConvertToDraftEvent",
    "CROSS_REFERENCED_EVENT": "CrossReferencedEvent",
    "ISSUE_COMMENT": "IssueComment",
    "LABELED_EVENT": "LabeledEvent",
    "READY_FOR_REVIEW_EVENT": "ReadyForReviewEvent",
    "RENAMED_TITLE_EVENT": "RenamedTitleEvent",
    "REOPENED_EVENT": "ReopenedEvent",
    "UNLABELED_EVENT": "UnlabeledEvent",
}


def actor_node(world: World, account: Account | None) -> Json:
    """Return `Actor`; the login of a bot has no `[bot]` here, unlike in REST."""
    if account is None:
        return None
    return {
        "__typename": account.kind,
        "id": account.node_id,
        "databaseId": account.id,
        "login": account.login.removesuffix("[bot]"),
        "name": account.name,
        "url": account_page(world, account),
    }


def repository_node(world: World, repository: Repository) -> dict[str, Json]:
    """Return `Repository` without what has to be asked for by number or name."""
    return {
        "__typename": "Repository",
        "id": repository.node_id,
        "databaseId": repository.id,
        "name": repository.name,
        "nameWithOwner": repository.full_name,
        "owner": actor_node(world, repository.owner),
        "url": f"{world.url}/{repository.full_name}",
        "isPrivate": repository.private,
        "isArchived": False,
        "isDisabled": False,
        "isLocked": False,
    }


def issue_node(world: World, issue: Issue) -> Json:
    """Return `Issue`, or `PullRequest` when it is one."""
    if issue.pull:
        return _common(world, issue) | _pull_fields(issue.pull)
    reason = issue.state_reason
    return _common(world, issue) | {
        "__typename": "Issue",
        "state": issue.state.upper(),
        "stateReason": lambda _info, **_: reason.upper() if reason else None,
    }


def _common(world: World, issue: Issue) -> dict[str, Json]:
    repository = issue.repository
    return _written(world, issue) | {
        "fullDatabaseId": str(issue.id),
        "number": issue.number,
        "title": issue.title,
        "bodyText": issue.body,
        "url": page_url(world, issue),
        "closed": issue.state == "closed",
        "closedAt": maybe_moment(issue.closed_at),
        "locked": False,
        "labels": _connection([_label(each) for each in issue.labels]),
        "comments": _connection([_comment(world, each) for each in issue.comments]),
        "timelineItems": lambda _info, **chosen: _timeline(world, issue, **chosen),
        "repository": lambda _info: repository_node(world, repository),
    }


def _pull_fields(pull: Pull) -> dict[str, Json]:
    return {
        "__typename": "PullRequest",
        "id": pull.node_id,
        "databaseId": pull.id,
        "fullDatabaseId": str(pull.id),
        "state": pull.issue.state.upper(),
        "isDraft": pull.draft,
        "isCrossRepository": False,
        "merged": False,
        "mergedAt": None,
        "mergeable": "MERGEABLE" if pull.facts.mergeable else "CONFLICTING",
        "baseRefName": pull.base,
        "baseRefOid": pull.base_sha,
        "headRefName": pull.head,
        "headRefOid": pull.head_sha,
        "additions": pull.facts.additions,
        "deletions": pull.facts.deletions,
        "changedFiles": pull.facts.changed_files,
    }


def _written(world: World, written: Written) -> dict[str, Json]:
    return {
        "id": written.node_id,
        "databaseId": written.id,
        "body": written.body,
        "author": actor_node(world, written.author.account),
        "editor": actor_node(world, written.editor),
        "createdAt": moment(written.created_at),
        "updatedAt": moment(written.updated_at),
        "lastEditedAt": maybe_moment(written.last_edited_at),
        "includesCreatedEdit": written.last_edited_at is not None,
    }


def _comment(world: World, comment: Comment) -> Json:
    url = f"{page_url(world, comment.issue)}#issuecomment-{comment.id}"
    return {"__typename": "IssueComment", "url": url} | _written(world, comment)


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


def _happening(world: World, happening: Happening) -> Json:
    old, new = happening.rename or ("", "")
    return {
        "__typename": EVENT_TYPES[happening.event],
        "id": happening.node_id,
        "actor": actor_node(world, happening.actor.account),
        "createdAt": moment(happening.created_at),
        "label": label_node(happening.label),
        "previousTitle": old,
        "currentTitle": new,
    }


def _timeline(world: World, issue: Issue, **chosen: Json) -> Json:
    nodes = [(each.id, _happening(world, each)) for each in issue.timeline]
    nodes += [(each.id, _comment(world, each)) for each in issue.comments]
    in_order = [node for _, node in sorted(nodes, key=lambda pair: pair[0])]
    wanted = {ITEM_TYPES[each] for each in chosen.pop("itemTypes", None) or ITEM_TYPES}
    fitting = [node for node in in_order if node["__typename"] in wanted]
    return _connection(fitting)(None, **chosen)


def _connection(nodes: Sequence[Json]) -> Callable[..., Json]:
    """Return the resolver of a connection: the first or last of its nodes, from a cursor on."""

    def resolve(
        _info: object,
        first: int | None = None,
        last: int | None = None,
        after: str | None = None,
        before: str | None = None,
        **_: Json,
    ) -> Json:
        if (first is None) is (last is None) or not 1 <= (first or last or 0) <= MOST_NODES:
            raise ValueError("You must provide a `first` or `last` value of 1 to 100.")
        start = int(after) if after else 0
        end = int(before) - 1 if before else len(nodes)
        if first is not None:
            end = min(end, start + first)
        else:
            start = max(start, end - (last or 0))
        return {
            "nodes": nodes[start:end],
            "totalCount": len(nodes),
            "pageInfo": {
                "startCursor": str(start + 1),
                "endCursor": str(end),
                "hasNextPage": end < len(nodes),
                "hasPreviousPage": start > 0,
            },
        }

    return resolve
