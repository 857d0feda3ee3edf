"""What people with write access said on an issue, and how many others spoke."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from agents.requests import Frozen, Person, Request
from app.github.access.roles import Role, role_of
from app.github.transport import COMMENTS, BotIdentity, InstallationClient

MOST_PEOPLE = 30
"""How many people's roles are asked for; more are taken for outsiders."""

MOST_COMMENTS = 50


class Remark(Frozen):
    """A comment as its author wrote it: untrusted text, to be quoted as data."""

    author: str
    role: str
    at: datetime
    body: str


class Discussion(Frozen):
    """The newest comments of people with write access, oldest first."""

    remarks: tuple[Remark, ...] = ()
    by_outsiders: int = 0
    """Comments of bots and of people who may not write."""
    too_late: int = 0
    """Comments made or edited after the request: nobody read them when they asked."""
    left_out: int = 0
    """Older comments beyond the limit."""


async def discussion(
    client: InstallationClient, request: Request, own: BotIdentity, *, until: float
) -> Discussion:
    """Return what people said before `until` (unix seconds), without Fettle's own comments.

    https://docs.github.com/rest/issues/comments#list-issue-comments
    """
    repository = request.repository
    where = {"owner": repository.owner, "repo": repository.name, "number": str(request.number)}
    every = [
        comment async for comment in client.getiter(COMMENTS, where) if not own.is_author(comment)
    ]
    in_time = [comment for comment in every if _moment(comment["updated_at"]) < _utc(until)]
    roles = await roles_of(client, request, in_time)
    remarks = [
        Remark(
            author=comment["user"]["login"],
            role=roles[comment["user"]["id"]].name,
            at=_moment(comment["created_at"]),
            body=comment["body"] or "",
        )
        for comment in in_time
        if (comment["user"] or {}).get("id") in roles
    ]
    return Discussion(
        remarks=tuple(remarks[-MOST_COMMENTS:]),
        by_outsiders=len(in_time) - len(remarks),
        too_late=len(every) - len(in_time),
        left_out=max(0, len(remarks) - MOST_COMMENTS),
    )


async def roles_of(
    client: InstallationClient, request: Request, comments: list[dict[str, Any]]
) -> dict[int, Role]:
    """Return the roles of those who may write, by account id; the newest authors come first."""
    authors = {
        user["id"]: user["login"]
        for comment in reversed(comments)
        if (user := comment["user"]) and user["type"] == "User"
    }
    roles = {}
    for author, login in list(authors.items())[:MOST_PEOPLE]:
        role = await role_of(client, request.repository, Person(id=author, login=login))
        if role.may_write:
            roles[author] = role
    return roles


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
