"""Post each of Fettle's comments once: a hidden marker of run and key finds it again.

https://docs.github.com/rest/issues/comments#create-an-issue-comment
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from agents.errors import TransientError
from agents.requests import Command, Repository, Request
from app.github.transport.client import GitHub
from app.github.transport.installation_client import InstallationClient
from app.github.transport.tokens import Profile

COMMENTS = "/repos/{owner}/{repo}/issues/{number}/comments"
COMMENT = "/repos/{owner}/{repo}/issues/comments/{id}"

T = TypeVar("T")

SETTLE = 2.0
"""Seconds after a lost answer until GitHub's lists show what the request may have made."""


def make_marker(run_id: str, key: str) -> str:
    """Return the hidden line that identifies a text of Fettle's on GitHub."""
    return f"<!-- fettle run={run_id} key={key} -->"


@dataclass(frozen=True)
class CommentPlace:
    """An issue or pull request, whoever asked for something on it."""

    installation_id: int
    repository: Repository
    number: int


@dataclass(frozen=True)
class Posted:
    """A comment as it stands on GitHub, without its marker."""

    id: int
    url: str
    text: str
    at: str = ""
    """When the comment was created, as GitHub's text."""


class MarkedComments:
    """The comments of one run on its issue."""

    def __init__(
        self,
        github: GitHub,
        request: Request | Command | CommentPlace,
        run_id: str,
        *,
        settle: float = SETTLE,
    ) -> None:
        self._github = github
        self._request = request
        self._run_id = run_id
        self._settle = settle
        repository = request.repository
        self._where = {
            "owner": repository.owner,
            "repo": repository.name,
            "number": str(request.number),
        }

    async def say(self, key: str, text: str, *, yielding: bool = False) -> Posted:
        """Return the comment of this key; create it with this text if it does not exist."""

        async def create() -> Posted:
            client = await self._client()
            body = f"{make_marker(self._run_id, key)}\n{text}"
            posted = await client.post(
                COMMENTS, self._where, data={"body": body}, yielding=yielding
            )
            return _to_posted(posted, make_marker(self._run_id, key))

        return await made_once(lambda: self.find(key), create, settle=self._settle)

    async def find(self, key: str) -> Posted | None:
        """Return the run's comment of this key, or None."""
        client, mark = await self._client(), make_marker(self._run_id, key)
        own = await self._github.identity(client)
        async for comment in client.getiter(COMMENTS, self._where):
            if mark in (comment["body"] or "") and own.is_author(comment):
                return _to_posted(comment, mark)
        return None

    async def get(self, comment_id: int, key: str) -> Posted:
        """Return the comment of this id. Raises NotFound when somebody has deleted it."""
        client = await self._client()
        comment = await client.getitem(COMMENT, {**self._where, "id": str(comment_id)})
        return _to_posted(comment, make_marker(self._run_id, key))

    async def change(self, comment_id: int, key: str, text: str, *, yielding: bool) -> None:
        """Replace the comment's text. Raises NotFound when somebody has deleted it."""
        client = await self._client()
        body = f"{make_marker(self._run_id, key)}\n{text}"
        where = {**self._where, "id": str(comment_id)}
        await client.patch(COMMENT, where, data={"body": body}, yielding=yielding)

    async def _client(self) -> InstallationClient:
        request = self._request
        return await self._github.installation(
            request.installation_id, request.repository.id, Profile.REPORT
        )


async def made_once(
    find: Callable[[], Awaitable[T | None]], create: Callable[[], Awaitable[T]], *, settle: float
) -> T:
    """Return what `find` finds, or else what `create` makes.

    GitHub may have created it although the answer was lost, so `find` runs again before a second
    try, after `settle` seconds. A pause that GitHub asks for is left to the caller.
    """
    if (found := await find()) is not None:
        return found
    try:
        return await create()
    except TransientError as error:
        if error.retry_after is not None:
            raise
    await asyncio.sleep(settle)
    if (found := await find()) is not None:
        return found
    return await create()


def _to_posted(comment: dict[str, Any], mark: str) -> Posted:
    text = (comment["body"] or "").replace(mark, "", 1).lstrip("\n")
    return Posted(comment["id"], comment["html_url"], text, comment["created_at"])
