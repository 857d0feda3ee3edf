"""Reviews, threads and line comments as GraphQL objects."""

from __future__ import annotations

from functools import partial
from typing import Any

from app.simulator.github.graphql.parts import actor_node, connection, written_node
from app.simulator.github.schemas.common import moment
from app.simulator.github.schemas.reviews import remark_page, review_page
from app.simulator.github.state.reviews import LineRemark, Review, Thread, opinion_of
from app.simulator.github.state.world import Pull, World
from app.simulator.github.tokens import Token

Json = Any
WRITERS = ("write", "maintain", "admin")
TO_RESOLVE = ("pull_requests", "contents")


def may_resolve(token: Token) -> bool:
    """Return whether the token may resolve threads; GitHub asks for `contents: write` as well."""
    return all(token.grants(each, "write") for each in TO_RESOLVE)


def reviewed_fields(world: World, pull: Pull, token: Token) -> dict[str, Json]:
    """Return what a pull request has of reviews."""
    threads = [partial(thread_node, world, each, token) for each in pull.threads]
    return {
        "reviewDecision": _decision(pull),
        "reviewThreads": connection(threads),
        "reviews": lambda _info, **chosen: _reviews(world, pull, **chosen),
    }


def _decision(pull: Pull) -> str | None:
    people = {each.author.account.id: each.author.account for each in pull.reviews}
    writers = [each for each in people.values() if _may_write(pull, each.id)]
    found = [opinion_of(pull, each) for each in writers]
    kinds = ("CHANGES_REQUESTED", "APPROVED")
    return next((kind for kind in kinds if kind in found), None)


def _may_write(pull: Pull, account_id: int) -> bool:
    owner, role = pull.repository.owner, pull.repository.roles.get(account_id)
    return account_id == owner.id or (role is not None and role.base in WRITERS)


def _reviews(world: World, pull: Pull, **chosen: Json) -> Json:
    states, author = chosen.pop("states", None), chosen.pop("author", None)
    found = [
        partial(review_node, world, each)
        for each in pull.reviews
        if (states is None or each.state in states)
        and author in (None, each.author.account.login.removesuffix("[bot]"))
    ]
    return connection(found)(None, **chosen)


def thread_node(world: World, thread: Thread, token: Token) -> Json:
    """Return `PullRequestReviewThread`, as the token sees it."""
    by, may = thread.resolved_by, may_resolve(token)
    resolver = by and actor_node(world, by) | {"__typename": "User", "login": by.login}
    said = [partial(remark_node, world, each) for each in thread.remarks]
    return {
        "__typename": "PullRequestReviewThread",
        "id": thread.node_id,
        "isResolved": thread.resolved,
        "isOutdated": thread.outdated,
        "isCollapsed": thread.resolved,
        **_place(thread),
        "diffSide": thread.side,
        "startDiffSide": thread.start_side,
        "resolvedBy": resolver,
        "viewerCanReply": token.grants("pull_requests", "write"),
        "viewerCanResolve": may and not thread.resolved,
        "viewerCanUnresolve": may and thread.resolved,
        "comments": connection(said),
    }


def _place(thread: Thread) -> dict[str, Json]:
    return {
        "path": thread.path,
        "line": thread.line,
        "startLine": thread.start_line,
        "originalLine": thread.original_line,
        "originalStartLine": thread.original_start_line,
        "subjectType": "LINE",
    }


def remark_node(world: World, remark: LineRemark) -> Json:
    """Return `PullRequestReviewComment`."""
    thread, first, review = remark.thread, remark.reply_to, remark.review
    return {
        "__typename": "PullRequestReviewComment",
        **written_node(world, remark),
        **_place(thread),
        "diffHunk": thread.original.hunk,
        "outdated": thread.outdated,
        "minimizedReason": None,
        "publishedAt": moment(remark.created_at),
        "url": remark_page(world, remark),
        "commit": _commit(thread.commit),
        "originalCommit": _commit(thread.original_commit),
        "replyTo": lambda _info: first and remark_node(world, first),
        "pullRequestReview": lambda _info: review_node(world, review),
    }


def review_node(world: World, review: Review) -> Json:
    """Return `PullRequestReview`."""
    said = [partial(remark_node, world, each) for each in review.remarks]
    return {
        "__typename": "PullRequestReview",
        **written_node(world, review),
        "state": review.state,
        "url": review_page(world, review),
        "authorCanPushToRepository": _may_write(review.pull, review.author.account.id),
        "submittedAt": moment(review.created_at),
        "commit": _commit(review.commit),
        "comments": connection(said),
    }


def _commit(sha: str) -> Json:
    return {"__typename": "Commit", "id": f"C_{sha}", "oid": sha}
