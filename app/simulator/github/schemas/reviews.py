"""Reviews, threads and line comments as GitHub's REST API and webhooks show them."""

from __future__ import annotations

from typing import Any

from app.simulator.github.accounts import Account
from app.simulator.github.schemas.common import account_json, moment
from app.simulator.github.schemas.issues import association, page_url, reactions_json
from app.simulator.github.state.reviews import LineRemark, Review, Thread
from app.simulator.github.state.world import Pull, World

Json = Any


def review_page(world: World, review: Review) -> str:
    """Return the address where people read a review."""
    return f"{page_url(world, review.pull.issue)}#pullrequestreview-{review.id}"


def remark_page(world: World, remark: LineRemark) -> str:
    """Return the address where people read a comment on a line."""
    return f"{page_url(world, remark.thread.pull.issue)}#discussion_r{remark.id}"


def review_json(world: World, review: Review) -> Json:
    """Return `pull-request-review`."""
    return {
        **_common(world, review.pull, review.author.account, review_page(world, review)),
        "id": review.id,
        "node_id": review.node_id,
        "body": review.body,
        "state": review.state,
        "submitted_at": moment(review.created_at),
        "commit_id": review.commit,
    }


def hook_review_json(world: World, review: Review) -> Json:
    """Return a review as webhooks have it: the state in small letters, and no text as null."""
    more = {"state": review.state.lower(), "updated_at": moment(review.updated_at)}
    return review_json(world, review) | more | {"body": review.body or None}


def remark_json(world: World, remark: LineRemark) -> Json:
    """Return `pull-request-review-comment`."""
    pull, thread = remark.thread.pull, remark.thread
    url = f"{world.api}/repos/{pull.repository.full_name}/pulls/comments/{remark.id}"
    shape = _common(world, pull, remark.author.account, remark_page(world, remark))
    shape |= {
        "_links": shape["_links"] | {"self": {"href": url}},
        "url": url,
        "pull_request_review_id": remark.review.id,
        "id": remark.id,
        "node_id": remark.node_id,
        "diff_hunk": thread.original.hunk,
        "path": thread.path,
        "position": thread.position,
        "original_position": thread.original.position,
        "line": thread.line,
        "original_line": thread.original_line,
        "start_line": thread.start_line,
        "original_start_line": thread.original_start_line,
        "side": thread.side,
        "start_side": thread.start_side,
        "subject_type": "line",
        "commit_id": thread.commit,
        "original_commit_id": thread.original_commit,
        "body": remark.body,
        "created_at": moment(remark.created_at),
        "updated_at": moment(remark.updated_at),
        "reactions": reactions_json(url, remark),
    }
    return shape | ({"in_reply_to_id": remark.reply_to.id} if remark.reply_to else {})


def review_remark_json(world: World, remark: LineRemark) -> Json:
    """Return `review-comment`, the older shape: where a line is now, is not said."""
    shape = remark_json(world, remark)
    dropped = {"line", "original_line", "start_line", "original_start_line", "side", "start_side"}
    return {name: value for name, value in shape.items() if name not in dropped | {"subject_type"}}


def thread_json(world: World, thread: Thread) -> Json:
    """Return a thread as webhooks have it."""
    said = [remark_json(world, each) for each in thread.remarks]
    return {"node_id": thread.node_id, "comments": said}


def reviewed_json(world: World, review: Review) -> Json:
    """Return `timeline-reviewed-event`."""
    shape = review_json(world, review) | {"updated_at": moment(review.updated_at)}
    return shape | {"event": "reviewed", "state": review.state.lower()}


def _common(world: World, pull: Pull, author: Account, page: str) -> Json:
    repository = pull.repository
    pull_url = f"{world.api}/repos/{repository.full_name}/pulls/{pull.issue.number}"
    return {
        "user": account_json(world, author),
        "author_association": association(repository, author),
        "html_url": page,
        "pull_request_url": pull_url,
        "_links": {"html": {"href": page}, "pull_request": {"href": pull_url}},
    }
