"""The unresolved review threads of a pull request, with their comments."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.ports import Thread, ThreadComment
from agents.requests import Person
from app.github.access.authors import Author, Authors
from app.github.access.edit_history import EditHistory, edited_by_author, said_at
from app.github.access.run_reader import RunReader
from app.github.graphql.documents import load_document
from app.github.transport import InstallationClient, NotFound
from handlers.pull_request_review import is_praise

MOST_THREADS = 1_000
MOST_SAID = 200
"""Comments of one thread that are read: the first one, and the newest."""

HUNK_LINES = 40
"""Lines of a diff hunk that are kept, up to the one that is commented on; of a comment on more
lines than that, all these are."""

VERDICT = re.compile(
    r"\A<!-- fettle run=(?P<run>[A-Za-z0-9._-]+) key=thread-(?P<verdict>[a-z_-]+) -->\n?"
)
"""How Fettle's answers in threads begin. It counts in comments by Fettle's own account alone, and
only while nobody else has edited them."""


@dataclass
class Threads:
    """The threads that were found, and how many were left out."""

    open: list[Thread] = field(default_factory=list)
    said_by: list[tuple[ThreadComment, Person]] = field(default_factory=list)
    """People's comments in the threads."""
    resolved: int = 0
    by_outsiders: int = 0
    """Comments that are left out."""
    from_outsiders: int = 0
    """Comments by people without write access that are in it."""
    left_out: int = 0
    """Comments, and threads, beyond the limits."""


class ThreadReader:
    """Reads a pull request's threads: one request for 50 of them, more for long threads."""

    def __init__(
        self, reading: RunReader, client: InstallationClient, speakers: Authors, texts: EditHistory
    ) -> None:
        self._reading = reading
        self._client = client
        self._speakers = speakers
        self._texts = texts
        self._found = Threads()

    async def read(self, *, may_resolve: bool) -> Threads:
        """Return the threads in the order of files, then of lines.

        https://docs.github.com/graphql/reference/objects#pullrequestreviewthread
        """
        found = self._found
        async for item in self._items():
            if item["isResolved"] and not await self._answered_since(item):
                found.resolved += 1
            elif (thread := await self._thread(item, may_resolve=may_resolve)) is not None:
                found.open.append(thread)
        found.open.sort(
            key=lambda each: (each.path, each.line or each.original_line or 0, each.root)
        )
        return found

    async def _answered_since(self, item: Mapping[str, Any]) -> bool:
        """Tell whether somebody has answered in a thread that Fettle closed, and not people."""
        resolver, said = item["resolvedBy"], item["comments"]["nodes"]
        own = await self._reading.github.identity(self._client)
        if not said or (resolver and resolver["login"].removesuffix("[bot]") != own.slug):
            return False
        newest = (said[-1]["author"] or {}).get("databaseId")
        return newest != own.bot.id and any(
            (each["author"] or {}).get("databaseId") == own.bot.id and VERDICT.match(each["body"])
            for each in said
        )

    async def _items(self) -> AsyncIterator[Mapping[str, Any]]:
        repository, after, seen = self._reading.request.repository, None, 0
        asked = {"owner": repository.owner, "name": repository.name}
        while True:
            found = await self._client.graphql(
                load_document("review_threads"),
                {**asked, "number": self._reading.request.number, "after": after},
            )
            page = found["repository"]["pullRequest"]["reviewThreads"]
            for item in page["nodes"]:
                yield item
            seen, after = seen + len(page["nodes"]), page["pageInfo"]["endCursor"]
            if not page["pageInfo"]["hasNextPage"] or seen >= MOST_THREADS:
                self._found.left_out += max(0, page["totalCount"] - seen)
                return

    async def _thread(self, item: Mapping[str, Any], *, may_resolve: bool) -> Thread | None:
        """Return a thread, or None when nobody speaks in it but outsiders, or whom GitHub hides."""
        if not item["first"]["nodes"]:
            return None
        first, items, left_out = await self._comments(item)
        self._found.left_out += left_out
        said, outside = [], 0
        for comment in items:
            speaker = await self._speakers.find(comment)
            if speaker is None:
                outside += 1
                continue
            words = await self._to_said(comment, speaker)
            said.append(words)
            self._found.from_outsiders += speaker.outsider
            if not speaker.own:
                self._found.said_by.append((words, speaker.person))
        self._found.by_outsiders += outside
        if not said:
            return None
        return Thread(
            id=item["id"],
            root=int(first["fullDatabaseId"]),
            path=item["path"],
            **_lines(item),
            hunk=_hunk(first["diffHunk"], _count_lines(item)),
            said=tuple(said),
            by_outsiders=outside,
            left_out=left_out,
            may_resolve=may_resolve,
            url=first["url"],
        )

    async def _comments(
        self, item: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], list[Mapping[str, Any]], int]:
        """Return the first comment, those that are read, and how many between are not."""
        first, newest = item["first"]["nodes"][0], item["comments"]
        items, page = list(newest["nodes"]), newest["pageInfo"]
        while page["hasPreviousPage"] and len(items) < MOST_SAID:
            asked = {"id": item["id"], "before": page["startCursor"]}
            try:
                found = (await self._client.graphql(load_document("thread_comments"), asked))[
                    "node"
                ]
            except NotFound:  # it was deleted since it was listed: answering it says so
                break
            if not found or not found["comments"]["nodes"]:
                break
            page = found["comments"]["pageInfo"]
            items = [*found["comments"]["nodes"], *items]
        items = items[-MOST_SAID:]
        if items[0]["fullDatabaseId"] != first["fullDatabaseId"]:
            items = [first, *items[-MOST_SAID + 1 :]]
        return first, items, max(0, newest["totalCount"] - len(items))

    async def _to_said(self, item: Mapping[str, Any], speaker: Author) -> ThreadComment:
        text = await self._texts.text(item)
        mark = VERDICT.match(text) if speaker.own else None
        untouched = item["lastEditedAt"] is None or edited_by_author(item)
        return ThreadComment(
            id=int(item["fullDatabaseId"]),
            author=speaker.person,
            role=speaker.role,
            own=speaker.own,
            verdict=mark["verdict"] if mark and untouched else "",
            body=text[mark.end() :] if mark else text,
            edited=text != item["body"],
            praise=not speaker.own and is_praise(text),
            at=said_at(item),
            url=item["url"],
        )


def _lines(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return where it is in the head's version of the file; what is not there has no line."""
    right, on_file = item["diffSide"] == "RIGHT", item["subjectType"] == "FILE"
    there = right and not on_file and not item["isOutdated"]
    several = there and item["startDiffSide"] in ("RIGHT", None)
    return {
        "start": item["startLine"] if several else None,
        "line": item["line"] if there else None,
        "original_line": None if on_file else item["originalLine"],
        "side": item["diffSide"],
        "outdated": item["isOutdated"],
    }


def _count_lines(item: Mapping[str, Any]) -> int:
    """Return how many lines a thread is about."""
    first, last = item["startLine"], item["line"]
    return last - first + 1 if first and last else 1


def _hunk(text: str, count: int) -> str:
    """Return a hunk's head and its last lines: the comment stands below the last of so many."""
    lines = text.split("\n")  # as git counts them: a form feed ends none
    new = [at for at, line in enumerate(lines) if at and line[:1] not in ("-", "\\")]
    first = min([len(lines) + 1 - HUNK_LINES, *new[-count:][:1]])
    if first <= 1:
        return text
    return "\n".join([lines[0], f"[… {first - 1} lines left out …]", *lines[first:]])
