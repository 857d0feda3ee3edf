"""Answer review threads, once in each thread and run, and resolve them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.errors import RunError
from agents.ports import Thread
from agents.text import code_span
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.graphql.documents import load_document
from app.github.reviews.threads import MOST_SAID, VERDICT
from app.github.transport import (
    InstallationClient,
    NotFound,
    NotPermitted,
    OutgoingText,
    Profile,
    Unprocessable,
    made_once,
    make_marker,
)

REPLIES = f"{REPOSITORY}/pulls/{{number}}/comments/{{root}}/replies"
ROOM = 64_000

UNANSWERABLE = "The thread on {path} cannot be answered: it is gone, or its conversation is locked."
GONE = "it is not there any more"
NOT_PERMITTED = (
    "GitHub lets Fettle resolve threads only where it may write both contents and pull requests"
)
REFUSED = "GitHub did not resolve it"

_VERDICT = re.compile(r"[a-z][a-z_-]{0,39}")


class ReviewReplies:
    """The answers of one run."""

    def __init__(
        self, reading: RunReader, run_id: str, wording: OutgoingText, *, settle: float
    ) -> None:
        self._reading = reading
        self._run_id = run_id
        self._wording = wording
        self._settle = settle

    async def reply(self, thread: Thread, verdict: str, body: str) -> str:
        """Answer in the thread unless the run has answered; return the answer's URL.

        https://docs.github.com/rest/pulls/comments#create-a-reply-for-a-review-comment
        """
        if not _VERDICT.fullmatch(verdict):
            raise ValueError(f"{verdict!r} cannot be told from the rest of a marker")
        mark = make_marker(self._run_id, f"thread-{verdict}")
        text = f"{mark}\n{await self._wording.publish(body, limit=ROOM)}"
        try:
            return await made_once(
                lambda: self._find(thread), lambda: self._post(thread, text), settle=self._settle
            )
        except (NotFound, Unprocessable, NotPermitted) as error:
            why = UNANSWERABLE.format(path=code_span(thread.path))
            raise RunError(f"{why} {error}") from error

    async def has_answered(self, thread: Thread) -> bool:
        """Tell whether an answer of this run stands in the thread; none does where it is gone."""
        try:
            return await self._find(thread) is not None
        except NotFound:
            return False

    async def resolve(self, thread: Thread) -> str:
        """Resolve the thread; return the reason why it stays open, empty when it is resolved.

        https://docs.github.com/graphql/reference/mutations#resolvereviewthread
        """
        try:
            client = await self._reading.client()
            if (await self._look(client, thread, None))["isResolved"]:
                return ""
            request = self._reading.request
            async with self._reading.github.lease_client(
                request.installation_id, request.repository.id, Profile.PULLS
            ) as leased:
                asked = {"id": thread.id}
                await leased.graphql(load_document("thread_resolved"), asked, writes=True)
        except NotFound:
            return GONE
        except NotPermitted:
            return NOT_PERMITTED
        except Unprocessable:
            return REFUSED
        return ""

    async def _find(self, thread: Thread) -> str | None:
        """Return the URL of the run's answer in the thread, or None."""
        client = await self._reading.client()
        own = await self._reading.github.identity(client)
        before, seen = None, 0
        while seen < MOST_SAID:
            page = (await self._look(client, thread, before))["comments"]
            for item in page["nodes"]:
                mark = VERDICT.match(item["body"])
                mine = (item["author"] or {}).get("databaseId") == own.bot.id
                if mine and mark and mark["run"] == self._run_id:
                    return str(item["url"])
            seen, before = seen + len(page["nodes"]), page["pageInfo"]["startCursor"]
            if not page["pageInfo"]["hasPreviousPage"]:
                break
        return None

    async def _look(
        self, client: InstallationClient, thread: Thread, before: str | None
    ) -> Mapping[str, Any]:
        """Return the thread as it is now; raises NotFound when it is gone."""
        asked = {"id": thread.id, "before": before}
        item: Mapping[str, Any] = (await client.graphql(load_document("thread_comments"), asked))[
            "node"
        ]
        if not item:
            raise NotFound("Its comments were deleted.")
        return item

    async def _post(self, thread: Thread, text: str) -> str:
        client = await self._reading.client(Profile.REPORT)
        where = self._reading.url_variables(number=self._reading.request.number, root=thread.root)
        posted = await client.post(REPLIES, where, data={"body": text})
        return str(posted["html_url"])
