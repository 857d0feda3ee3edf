"""Parts that GraphQL objects share: actors, edit histories, connections with cursors."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

from graphql import GraphQLError

from app.simulator.github.accounts import Account
from app.simulator.github.schemas.common import account_page, maybe_moment, moment
from app.simulator.github.state.world import AuthoredText, TextEdit, World

Json = Any
CURSOR = "cursor:v2:"


class Denied(GraphQLError):
    """A field stays empty; `type` tells clients why, beside the message as GitHub does."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


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


def written_node(world: World, written: AuthoredText) -> dict[str, Json]:
    """Return what every text by somebody has; edits come newest first, each with the whole text."""
    edits = [_edit(world, each) for each in reversed(written.edits)]
    return {
        "id": written.node_id,
        "databaseId": written.id,
        "fullDatabaseId": str(written.id),
        "body": written.body,
        "author": actor_node(world, written.author.account),
        "editor": actor_node(world, written.editor),
        "createdAt": moment(written.created_at),
        "updatedAt": moment(written.updated_at),
        "lastEditedAt": maybe_moment(written.last_edited_at),
        "includesCreatedEdit": bool(edits),
        "isMinimized": False,
        "userContentEdits": connection(edits),
    }


def _edit(world: World, edit: TextEdit) -> Json:
    at = moment(edit.created_at)
    times = {"createdAt": at, "updatedAt": at, "editedAt": at, "deletedAt": None}
    told = {"editor": actor_node(world, edit.editor), "diff": edit.body}
    return {"__typename": "UserContentEdit", "id": edit.node_id, **times, **told}


def connection(nodes: Sequence[Json]) -> Callable[..., Json]:
    """Return the resolver of a connection: the first or last of its nodes, from a cursor on."""

    def resolve(
        _info: object,
        first: int | None = None,
        last: int | None = None,
        after: str | None = None,
        before: str | None = None,
        **_: Json,
    ) -> Json:
        start = _number(after) if after else 0
        end = _number(before) - 1 if before else len(nodes)
        if first is not None:
            end = min(end, start + first)
        else:
            start = max(start, end - (last or 0))
        chosen = [each() if callable(each) else each for each in nodes[start:end]]
        return {
            "nodes": chosen,
            "totalCount": len(nodes),
            "pageInfo": {
                "startCursor": _cursor(start + 1) if chosen else None,
                "endCursor": _cursor(end) if chosen else None,
                "hasNextPage": end < len(nodes),
                "hasPreviousPage": start > 0,
            },
        }

    return resolve


def _cursor(number: int) -> str:
    return base64.b64encode(f"{CURSOR}{number}".encode()).decode()


def _number(cursor: str) -> int:
    try:
        return int(base64.b64decode(cursor, validate=True).decode().removeprefix(CURSOR))
    except ValueError:
        reason = f"`{cursor}` does not appear to be a valid cursor."
        raise Denied("INVALID_CURSOR_ARGUMENTS", reason) from None
