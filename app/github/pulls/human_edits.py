"""Find out what people have edited on Fettle's pull request, and mark it ready for review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from agents.requests import Repository
from app.github.graphql.documents import load_document
from app.github.transport import BotIdentity, InstallationClient, NotPermitted, Unprocessable

log = structlog.get_logger()


@dataclass(frozen=True)
class HumanEdits:
    """The parts of a pull request that people have edited; Fettle leaves them alone."""

    node_id: str
    draft: bool
    """Whether the pull request is a draft now."""
    by_others: frozenset[str]
    """Which of `body`, `title` and `draft` somebody else has edited."""


async def read_touched(
    client: InstallationClient, repository: Repository, number: int, own: BotIdentity
) -> HumanEdits:
    """Ask GitHub who last edited the description, the title and the draft state.

    https://docs.github.com/graphql/reference/objects#pullrequest
    """
    variables = {"owner": repository.owner, "name": repository.name, "number": number}
    found = await client.graphql(load_document("pull_touched"), variables)
    pull: Mapping[str, Any] = found["repository"]["pullRequest"]
    theirs = {
        "title" if event["__typename"] == "RenamedTitleEvent" else "draft"
        for event in pull["timelineItems"]["nodes"]
        if not _is_us(event["actor"], own)
    }
    if pull["lastEditedAt"] and not _is_us(pull["editor"], own):
        theirs.add("body")
    return HumanEdits(pull["id"], pull["isDraft"], frozenset(theirs))


async def make_ready(client: InstallationClient, touched: HumanEdits) -> bool:
    """Mark the draft as ready for review; return whether GitHub let the App do so.

    https://docs.github.com/graphql/reference/mutations#markpullrequestreadyforreview
    """
    try:
        await client.graphql(load_document("pull_ready"), {"id": touched.node_id}, writes=True)
    except (NotPermitted, Unprocessable) as error:
        log.warning("the pull request stays a draft", reason=str(error))
        return False
    return True


def _is_us(actor: Mapping[str, Any] | None, own: BotIdentity) -> bool:
    return actor is not None and actor.get("databaseId") == own.bot.id
