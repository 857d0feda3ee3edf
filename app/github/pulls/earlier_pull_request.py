"""Find the pull request that an earlier run opened for the same issue, if it is still open.

https://docs.github.com/rest/git/refs#list-matching-references
https://docs.github.com/rest/pulls/pulls#list-pull-requests
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.ports import DECISION, EarlierPull
from app.git import BRANCH_PREFIX
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.pulls.publisher import PULLS
from app.github.pulls.text import KEY
from app.github.transport import BotIdentity, InstallationClient, NotFound

REFS = f"{REPOSITORY}/git/matching-refs/heads/{BRANCH_PREFIX}"
ACTIVITY = f"{REPOSITORY}/activity{{?ref,per_page}}"
MOST_BRANCHES = 30
"""Branches of one issue that are looked at; people tidy up long before."""

NOBODY_KNOWS = "(unknown)"

MARKER = re.compile(rf"<!-- fettle run=([A-Za-z0-9._-]+) key={KEY} -->")


async def read_earlier(reading: RunReader) -> EarlierPull | None:
    """Return the newest open pull request that Fettle itself made for the run's issue.

    One request for the branches, one for each branch, one for the pushes.
    """
    client = await reading.client()
    refs = await client.getitem(REFS, reading.url_variables())
    branches = [str(ref["ref"]).removeprefix("refs/heads/") for ref in refs]
    branches = [each for each in branches if is_named_for(each, reading.request.number)]
    own = await reading.github.identity(client)
    found = [
        pull
        for branch in branches[:MOST_BRANCHES]
        for pull in await _open_pulls(reading, client, branch)
        if _is_ours(reading, own, pull)
    ]
    if not found:
        return None
    pull = max(found, key=lambda each: int(each["number"]))
    place = reading.url_variables()
    return _earlier(pull, await find_other_pushers(client, own, place, pull["head"]["ref"]))


def is_named_for(branch: str, number: int) -> bool:
    """Tell whether the branch is called as one for this issue, in whatever folder below ours.

    A record is judged by itself: whoever merges it must not find code in it.
    """
    start, name = f"{number}-", branch.rpartition("/")[2]
    return name.startswith(start) and not name.startswith(f"{start}{DECISION}")


async def _open_pulls(
    reading: RunReader, client: InstallationClient, branch: str
) -> list[Mapping[str, Any]]:
    where = reading.url_variables(head=f"{reading.request.repository.owner}:{branch}", state="open")
    listed = await client.getitem(f"{PULLS}{{?head,state}}", where)
    # A server that does not know the filter would list every pull request.
    return [pull for pull in listed if pull["head"]["ref"] == branch and pull["state"] == "open"]


def _is_ours(reading: RunReader, own: BotIdentity, pull: Mapping[str, Any]) -> bool:
    """Tell whether Fettle made it, in this repository: a name or a marker anybody can copy."""
    home = (pull["head"]["repo"] or {}).get("id") == reading.request.repository.id
    return home and own.is_author(pull) and MARKER.search(pull["body"] or "") is not None


async def find_other_pushers(
    client: InstallationClient, own: BotIdentity, place: Mapping[str, str], branch: str
) -> tuple[str, ...]:
    """Return who else has pushed there, by GitHub's record: what commits say anybody can write."""
    where = {**place, "ref": f"refs/heads/{branch}", "per_page": "100"}
    try:
        moves = await client.getitem(ACTIVITY, where)
    except NotFound:  # an Enterprise Server that keeps no record
        return (NOBODY_KNOWS,)
    actors = [move.get("actor") or {} for move in moves]
    others = (actor.get("login", NOBODY_KNOWS) for actor in actors if actor.get("id") != own.bot.id)
    return tuple(dict.fromkeys(others))


def _earlier(pull: Mapping[str, Any], others: tuple[str, ...]) -> EarlierPull:
    named = MARKER.findall(pull["body"])
    return EarlierPull(
        number=pull["number"],
        url=pull["html_url"],
        title=pull["title"],
        branch=pull["head"]["ref"],
        head=pull["head"]["sha"],
        base=pull["base"]["ref"],
        draft=pull["draft"],
        run_id=named[-1],  # the publisher puts it last; what stands above is a model's text
        pushed_by=others,
    )
