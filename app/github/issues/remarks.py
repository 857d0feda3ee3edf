"""Comments on an issue while a run works on it, by its author and people who may write.

https://docs.github.com/rest/issues/comments#list-issue-comments
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from agents.policy import Found, InvalidPolicy
from agents.ports import Remark, Remarks
from app.github.access.discussion import MOST_COMMENTS, roles_of
from app.github.access.roles import Role
from app.github.access.run_reader import RunReader
from app.github.transport import COMMENTS, InstallationClient
from handlers.access.policy import is_among
from handlers.command_parser import strip_commands_in_child

AUTHOR = "author"
"""The role shown for the issue's author without a role in the repository."""

MOST_READ = 500
"""Comments that are read for one answer; later ones are read with the next."""


async def read_remarks(
    reading: RunReader, after: int, policy: Callable[[], Awaitable[Found]] | None = None
) -> Remarks:
    """Return comments after the comment `after`, without Fettle's own.

    Writers whom the policy does not let steer count as outsiders. One request for each hundred
    comments since the run was asked for, one for each person, and one for the policy.
    """
    client, request = await reading.client(), reading.request
    heard, newest = await _read_remarks(reading, client, after)
    roles = await roles_of(client, request, heard)
    if roles and policy is not None:
        roles = _filter_roles(await policy(), roles, heard)
    inside = [each for each in heard if _person(each) in roles]
    outside = [each for each in heard if _person(each) not in roles]
    author = [each for each in outside if _person(each) == request.author.id != 0]
    said, cut = _newest([await _remark(each, roles[_person(each)].name) for each in inside])
    by_author, cut_of_author = _newest([await _remark(each, AUTHOR) for each in author])
    return Remarks(
        said=said,
        by_author=by_author,
        by_outsiders=len(outside) - len(author),
        left_out=cut + cut_of_author,
        newest=newest,
    )


def _filter_roles(
    found: Found, roles: dict[int, Role], heard: list[dict[str, Any]]
) -> dict[int, Role]:
    """Return the roles of those whom the policy lets steer; of one that is not valid, nobody's."""
    if isinstance(found, InvalidPolicy):
        return {}
    who, logins = found.policy.who, {_person(each): each["user"]["login"] for each in heard}
    return {
        ident: role
        for ident, role in roles.items()
        if is_among(who, logins[ident], role.role_name, role.permission)
    }


async def _read_remarks(
    reading: RunReader, client: InstallationClient, after: int
) -> tuple[list[dict[str, Any]], int]:
    """Return what others said beyond `after`, oldest first, and the newest comment's id."""
    own = await reading.github.identity(client)
    heard: list[dict[str, Any]] = []
    # GitHub tells times in whole seconds: what was said in that second may be news.
    newest, since = after, datetime.fromtimestamp(int(reading.until), UTC)
    where = reading.url_variables(
        number=reading.request.number, since=f"{since:%Y-%m-%dT%H:%M:%SZ}"
    )
    async for comment in client.getiter(f"{COMMENTS}{{?since}}", where):
        if comment["id"] <= after or _moment(comment["created_at"]) < since:
            continue
        newest = max(newest, comment["id"])
        if not own.is_author(comment):
            heard.append(comment)
        if len(heard) == MOST_READ:
            break
    return heard, newest


def _person(comment: Mapping[str, Any]) -> int:
    """Return the id of the person who said it; 0 for a bot, or when the account is gone."""
    user = comment["user"] or {}
    return user["id"] if user.get("type") == "User" else 0


def _newest(remarks: list[Remark]) -> tuple[tuple[Remark, ...], int]:
    """Return the newest ones that say anything, and how many older ones are left out."""
    full = [remark for remark in remarks if remark.body]
    return tuple(full[-MOST_COMMENTS:]), max(0, len(full) - MOST_COMMENTS)


async def _remark(comment: Mapping[str, Any], role: str) -> Remark:
    return Remark(
        id=comment["id"],
        author=comment["user"]["login"],
        role=role,
        at=_moment(comment["created_at"]),
        body=await strip_commands_in_child(comment["body"] or ""),
        edited=comment["updated_at"] != comment["created_at"],
    )


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
