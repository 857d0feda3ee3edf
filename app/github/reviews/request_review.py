"""Request reviews again of those reviewers whom GitHub lets Fettle ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from agents.requests import Person
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.pulls.head_branch import PULL
from app.github.transport import InstallationClient, Profile, Unprocessable

REQUESTED = f"{REPOSITORY}/pulls/{{number}}/requested_reviewers"
MOST = 15
"""People that one run asks; each of them gets a message."""

log = structlog.get_logger()


async def ask_again(reading: RunReader, reviewers: Sequence[Person]) -> tuple[str, ...]:
    """Request reviews of these people; return everyone who now stands as requested.

    https://docs.github.com/rest/pulls/review-requests
    """
    client = await reading.client(Profile.REPORT)
    where = reading.url_variables(number=reading.request.number)
    pull = await client.getitem(PULL, where)
    own = await reading.github.identity(client)
    never = {own.bot.id, (pull["user"] or {}).get("id")}
    asked = [each for each in dict.fromkeys(reviewers) if each.id not in never][:MOST]
    standing = _ids(pull)
    return tuple(
        [
            each.login
            for each in asked
            if each.id in standing or await _ask(reading, client, where, each)
        ]
    )


async def _ask(
    reading: RunReader, client: InstallationClient, where: dict[str, str], person: Person
) -> bool:
    """Ask one person, so that one who cannot be asked is in nobody's way."""
    role = await reading.writers.role(client, person)
    if role.is_bot or role.permission in ("", "none"):
        return False  # gone, or somebody else has the name by now
    try:
        answer = await client.post(REQUESTED, where, data={"reviewers": [person.login]})
    except Unprocessable as error:  # not a collaborator, or the pull request was closed
        log.info("not asked for a review", reason=str(error))
        return False
    return person.id in _ids(answer)


def _ids(pull: Mapping[str, Any]) -> set[int]:
    return {each["id"] for each in pull["requested_reviewers"]}
