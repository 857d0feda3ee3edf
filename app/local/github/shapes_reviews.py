"""Reviews as GitHub's REST API shows them."""

from __future__ import annotations

from typing import Any

from app.local.github.shapes import account_json, moment
from app.local.github.shapes_issues import association, page_url
from app.local.github.state import LineRemark, Pull, Review, World

Json = Any


def review_json(world: World, pull: Pull, review: Review) -> Json:
    """Return `pull-request-review`."""
    page = f"{page_url(world, pull.issue)}#pullrequestreview-{review.id}"
    return {
        **_common(world, pull, review, page),
        "id": review.id,
        "node_id": review.node_id,
        "body": review.body,
        "state": review.state,
        "submitted_at": moment(review.created_at),
        "commit_id": review.commit,
    }


def remark_json(world: World, pull: Pull, remark: LineRemark) -> Json:
    """Return `pull-request-review-comment`."""
    root = f"{world.api}/repos/{pull.issue.repository.full_name}"
    page = f"{page_url(world, pull.issue)}#discussion_r{remark.id}"
    shape = _common(world, pull, remark.review, page)
    url = f"{root}/pulls/comments/{remark.id}"
    return {
        **shape,
        "_links": shape["_links"] | {"self": {"href": url}},
        "url": url,
        "pull_request_review_id": remark.review.id,
        "id": remark.id,
        "node_id": remark.node_id,
        "diff_hunk": "",
        "path": remark.path,
        "line": remark.line,
        "side": "RIGHT",
        "commit_id": remark.review.commit,
        "original_commit_id": remark.review.commit,
        "body": remark.body,
        "created_at": moment(remark.created_at),
        "updated_at": moment(remark.created_at),
    }


def _common(world: World, pull: Pull, review: Review, page: str) -> Json:
    repository = pull.issue.repository
    pull_url = f"{world.api}/repos/{repository.full_name}/pulls/{pull.issue.number}"
    return {
        "user": account_json(world, review.author.account),
        "author_association": association(repository, review.author.account),
        "html_url": page,
        "pull_request_url": pull_url,
        "_links": {"html": {"href": page}, "pull_request": {"href": pull_url}},
    }
