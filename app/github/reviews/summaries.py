"""Summaries of reviews, and comments in a pull request's discussion.

https://docs.github.com/graphql/reference/objects#pullrequestreview
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agents.ports import Remark, ReviewText
from agents.requests import Person
from app.github.access.authors import Authors
from app.github.access.edit_history import EditHistory, said_at
from app.github.access.run_reader import RunReader
from app.github.graphql.documents import load_document
from app.github.transport import InstallationClient
from handlers.command_parser import strip_commands_in_child
from handlers.pull_request_review import is_praise

MOST_REVIEWS = 2_000
MOST_REMARKS = 500


@dataclass
class ReviewTexts:
    """The summaries and comments that were found, newest first."""

    reviews: list[tuple[ReviewText, Person]] = field(default_factory=list)
    remarks: list[tuple[Remark, Person]] = field(default_factory=list)
    covered: list[int] = field(default_factory=list)
    newest_at: datetime | None = None
    newest_remark: int = 0
    by_outsiders: int = 0
    from_outsiders: int = 0
    left_out: int = 0


class ReviewTextReader:
    """Reads reviews and discussion of a pull request: one request for each 50 of them."""

    def __init__(
        self, reading: RunReader, client: InstallationClient, speakers: Authors, texts: EditHistory
    ) -> None:
        self._reading = reading
        self._client = client
        self._speakers = speakers
        self._texts = texts
        self._found = ReviewTexts()

    async def read(self, *, dealt_with: frozenset[int], newest_remark: int) -> ReviewTexts:
        """Return texts after the comment `newest_remark`, outside of the reviews `dealt_with`."""
        found = self._found
        found.newest_remark = newest_remark
        async for item in self._items("review_texts", "reviews", MOST_REVIEWS):
            await self._take_review(item, dealt_with)
        async for item in self._items("pull_comments", "comments", MOST_REMARKS):
            if int(item["fullDatabaseId"]) <= newest_remark:
                break
            await self._take_remark(item)
        return found

    async def _items(self, name: str, kind: str, most: int) -> AsyncIterator[Mapping[str, Any]]:
        """Yield them, newest first."""
        repository, before, seen = self._reading.request.repository, None, 0
        asked = {"owner": repository.owner, "name": repository.name}
        while True:
            variables = {**asked, "number": self._reading.request.number, "before": before}
            found = await self._client.graphql(load_document(name), variables)
            page = found["repository"]["pullRequest"][kind]
            for item in reversed(page["nodes"]):
                yield item
            seen, before = seen + len(page["nodes"]), page["pageInfo"]["startCursor"]
            if not page["pageInfo"]["hasPreviousPage"]:
                return
            if seen >= most:
                self._found.left_out += max(0, page["totalCount"] - seen)
                return

    async def _take_review(self, item: Mapping[str, Any], dealt_with: frozenset[int]) -> None:
        found, ident = self._found, int(item["fullDatabaseId"])
        if item["state"] == "PENDING" or await self._is_own(item):
            return
        found.covered.append(ident)
        says = bool(item["body"].strip()) or item["lastEditedAt"] is not None
        waits = says and item["state"] != "DISMISSED" and ident not in dealt_with
        if not waits and found.newest_at is not None:
            return  # nothing depends on who it was
        speaker = await self._speakers.find(item)
        if speaker is None:
            found.by_outsiders += waits
            return
        found.newest_at = found.newest_at or said_at(item)
        if not waits:
            return
        text = await self._texts.text(item)
        if not text.strip() or (item["state"] != "CHANGES_REQUESTED" and is_praise(text)):
            return
        review = ReviewText(
            id=ident,
            author=speaker.person,
            role=speaker.role,
            state=item["state"].lower(),
            body=text,
            edited=text != item["body"],
            at=said_at(item),
            url=item["url"],
        )
        found.from_outsiders += speaker.outsider
        found.reviews.append((review, speaker.person))

    async def _take_remark(self, item: Mapping[str, Any]) -> None:
        found, ident = self._found, int(item["fullDatabaseId"])
        found.newest_remark = max(found.newest_remark, ident)
        if await self._is_own(item):
            return
        speaker = await self._speakers.find(item)
        if speaker is None:
            found.by_outsiders += 1
            return
        body = await strip_commands_in_child(await self._texts.text(item))
        if not body:
            return
        remark = Remark(
            id=ident,
            author=speaker.person.login,
            role=speaker.role,
            at=said_at(item),
            body=body,
            edited=item["lastEditedAt"] is not None,
        )
        found.from_outsiders += speaker.outsider
        found.remarks.append((remark, speaker.person))

    async def _is_own(self, item: Mapping[str, Any]) -> bool:
        own = await self._reading.github.identity(self._client)
        return bool((item["author"] or {}).get("databaseId") == own.bot.id)
