"""GraphQL's mutations, and objects looked up by node id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.simulator.github.accounts import Thing
from app.simulator.github.answers import ApiError, check_text
from app.simulator.github.calls import Parts
from app.simulator.github.graphql.nodes import comment_node, issue_node
from app.simulator.github.graphql.parts import Denied
from app.simulator.github.graphql.reviews import may_resolve, remark_node, review_node, thread_node
from app.simulator.github.state.reviews import LineRemark, Review, Thread
from app.simulator.github.state.world import Comment, Issue, Pull, Repository, World
from app.simulator.github.tokens import Token

Json = Any


class VisibleNodes:
    """What a token sees, by id."""

    def __init__(self, world: World, token: Token) -> None:
        self._world = world
        self._token = token

    def to_object(self, node_id: str) -> Json:
        """Return whatever it is as a GraphQL object; Denied when it is nothing here."""
        world, thing = self._world, self.thing(node_id)
        reviewing = isinstance(thing, Thread | Review | LineRemark)
        if reviewing and not self._token.grants("pull_requests", "read"):
            raise _forbid()
        match thing:
            case Issue():
                return issue_node(world, thing, self._token)
            case Pull():
                return issue_node(world, thing.issue, self._token)
            case Comment():
                return comment_node(world, thing)
            case Thread():
                return thread_node(world, thing, self._token)
            case Review():
                return review_node(world, thing)
            case LineRemark():
                return remark_node(world, thing)
        raise _unknown(node_id)

    def thing(self, node_id: str) -> Thing | None:
        """Return whatever has this id where the token sees it."""
        seen = (each for each in self._world.repositories.values() if self._token.sees(each))
        every = (each for repository in seen for each in _things(repository))
        return next((each for each in every if each.node_id == node_id), None)


def _things(repository: Repository) -> Iterator[Thing]:
    for issue in repository.issues.values():
        yield issue.pull or issue
        yield from issue.comments
        if issue.pull:
            yield from issue.pull.threads
            yield from issue.pull.reviews
            yield from issue.pull.remarks()


class Mutations:
    """The fields of `Mutation`."""

    def __init__(self, parts: Parts, token: Token) -> None:
        self._parts = parts
        self._token = token

    def markPullRequestReadyForReview(  # noqa: N802 - the field's name
        self,
        _info: object,
        input: Json,  # noqa: A002 - the argument's name
    ) -> Json:
        """End a draft. It takes a token that may write contents as well, as it does on GitHub."""
        pull = self._thing(input["pullRequestId"], Pull)
        if not may_resolve(self._token):
            raise _forbid()
        self._parts.pulls.set_draft(pull, self._token.actor, draft=False)
        node = issue_node(self._parts.world, pull.issue, self._token)
        return {"clientMutationId": input.get("clientMutationId"), "pullRequest": node}

    def resolveReviewThread(  # noqa: N802 - the field's name
        self,
        _info: object,
        input: Json,  # noqa: A002 - the argument's name
    ) -> Json:
        """Settle a thread."""
        return self._settle(input, resolved=True)

    def unresolveReviewThread(  # noqa: N802 - the field's name
        self,
        _info: object,
        input: Json,  # noqa: A002 - the argument's name
    ) -> Json:
        """Open a thread again."""
        return self._settle(input, resolved=False)

    def addPullRequestReviewThreadReply(  # noqa: N802 - the field's name
        self,
        _info: object,
        input: Json,  # noqa: A002 - the argument's name
    ) -> Json:
        """Answer in a thread."""
        thread = self._thing(input["pullRequestReviewThreadId"], Thread)
        if not self._token.grants("pull_requests", "write"):
            raise _forbid()
        if input.get("pullRequestReviewId") is not None:
            raise Denied("UNPROCESSABLE", "The local GitHub keeps no pending reviews.")
        try:
            body = check_text(input["body"], "PullRequestReviewComment")
        except ApiError:
            raise Denied("UNPROCESSABLE", "Body can't be blank, nor too long") from None
        remark = self._parts.reviews.reply(thread, self._token.actor, body)
        node = remark_node(self._parts.world, remark)
        return {"clientMutationId": input.get("clientMutationId"), "comment": node}

    def _settle(self, sent: Json, *, resolved: bool) -> Json:
        thread = self._thing(sent["threadId"], Thread)
        if not may_resolve(self._token):
            raise _forbid()
        self._parts.reviews.resolve(thread, self._token.actor, resolved=resolved)
        node = thread_node(self._parts.world, thread, self._token)
        return {"clientMutationId": sent.get("clientMutationId"), "thread": node}

    def _thing(self, node_id: str, kind: type[Json]) -> Json:
        thing = VisibleNodes(self._parts.world, self._token).thing(node_id)
        if not isinstance(thing, kind):
            raise _unknown(node_id)
        repository = (thing.pull if isinstance(thing, Thread) else thing).repository
        if repository.archived:
            raise Denied("FORBIDDEN", "Repository was archived so is read-only.")
        return thing


def _unknown(node_id: str) -> Denied:
    text = f"Could not resolve to a node with the global id of '{node_id}'."
    return Denied("NOT_FOUND", text)


def _forbid() -> Denied:
    return Denied("FORBIDDEN", "Resource not accessible by integration")
