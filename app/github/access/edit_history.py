"""Texts on GitHub as they read when a run was asked for, before any later edit.

https://docs.github.com/graphql/reference/objects#usercontentedit
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from app.github.graphql.documents import load_document
from app.github.transport import InstallationClient, NotFound, NotPermitted, Unprocessable

LEFT_OUT = (
    "[Somebody else edited this text after the run was asked for, and GitHub does not show how it "
    "read before. It is left out.]"
)
MOST_PAGES = 5


class EditHistory:
    """Looks up former texts for one run: edits after `until` (unix seconds) do not count."""

    def __init__(self, client: InstallationClient, until: float) -> None:
        self._client = client
        self._until = datetime.fromtimestamp(until, UTC)

    async def text(self, item: Mapping[str, Any]) -> str:
        """Return the text of a review or comment (GraphQL) as it counts; one request if edited."""
        moment = max(self._until, said_at(item))
        if item["lastEditedAt"] is None or datetime.fromisoformat(item["lastEditedAt"]) <= moment:
            return str(item["body"])
        version = await self._version(item["id"], moment)
        if version is not None:
            return version
        return str(item["body"]) if edited_by_author(item) else LEFT_OUT

    async def _version(self, ident: str, moment: datetime) -> str | None:
        """Return how it read then; None where GitHub has no history, or people deleted it."""
        edits = [
            (datetime.fromisoformat(edit["editedAt"]), edit) for edit in await self._edits(ident)
        ]
        # GitHub lists the newest first, so of two in the same second the later one is found.
        _, newest = max(
            ((at, edit) for at, edit in edits if at <= moment),
            key=lambda dated: dated[0],
            default=(moment, {}),
        )
        text: str | None = None if newest.get("deletedAt") else newest.get("diff")
        return text

    async def _edits(self, ident: str) -> list[Mapping[str, Any]]:
        edits: list[Mapping[str, Any]] = []
        after = None
        for _ in range(MOST_PAGES):
            asked = {"id": ident, "after": after}
            try:
                found = await self._client.graphql(load_document("text_edits"), asked)
            except (NotFound, Unprocessable, NotPermitted):
                return []
            page = (found["node"] or {}).get("userContentEdits")
            if page is None:
                return []
            edits += page["nodes"]
            after = page["pageInfo"]["endCursor"]
            if not page["pageInfo"]["hasNextPage"]:
                return edits
        return []  # the one that is wanted may be among those that were not read


def said_at(item: Mapping[str, Any]) -> datetime:
    """Return when others could first see a review or comment (GraphQL), in unix seconds."""
    at = item.get("submittedAt") or item.get("publishedAt") or item["createdAt"]
    return datetime.fromisoformat(at)


def edited_by_author(item: Mapping[str, Any]) -> bool:
    """Tell whether the last editor of a text is its author."""
    editor, author = item["editor"] or {}, item["author"] or {}
    same = editor.get("databaseId") == author.get("databaseId")
    return same and editor.get("databaseId") is not None
