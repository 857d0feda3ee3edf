"""Step 7: what people with write access say on the issue while a run works on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from agents.ports.tracker import Remark, Remarks
from app.github.comments import MOST_COMMENTS, roles_of
from app.github.forge_reading import Reading
from app.github.marked import COMMENTS
from handlers.commands import without_commands

MOST_READ = 500
"""Comments that are read for one answer; later ones are read with the next."""


async def read_remarks(reading: Reading, after: int) -> Remarks:
    """Return what was said beyond the comment `after`; Fettle's own words do not count.

    One request for each hundred comments since the run was asked for, and one for each author.
    """
    client, request = await reading.client(), reading.request
    own = await reading.github.identity(client)
    heard: list[dict[str, Any]] = []
    newest = after
    since = datetime.fromtimestamp(reading.until, UTC)
    where = reading.where(number=request.number, since=f"{since:%Y-%m-%dT%H:%M:%SZ}")
    async for comment in client.getiter(f"{COMMENTS}{{?since}}", where):
        if comment["id"] <= after or _moment(comment["created_at"]) < since:
            continue
        newest = max(newest, comment["id"])
        if not own.wrote(comment):
            heard.append(comment)
        if len(heard) == MOST_READ:
            break
    roles = await roles_of(client, request, heard)
    inside = [each for each in heard if (each["user"] or {}).get("id") in roles]
    said = [remark for each in inside if (remark := _remark(each, roles)).body]
    return Remarks(
        said=tuple(said[-MOST_COMMENTS:]),
        by_outsiders=len(heard) - len(inside),
        left_out=max(0, len(said) - MOST_COMMENTS),
        newest=newest,
    )


def _remark(comment: Mapping[str, Any], roles: Mapping[int, str]) -> Remark:
    return Remark(
        id=comment["id"],
        author=comment["user"]["login"],
        role=roles[comment["user"]["id"]],
        at=_moment(comment["created_at"]),
        body=without_commands(comment["body"] or ""),
        edited=comment["updated_at"] != comment["created_at"],
    )


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
