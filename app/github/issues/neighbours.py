"""Open pull requests beside the run's own: what they change, and which name the same issue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.ports import NeighbourPull
from agents.text.child_process import Exhausted, run_in_child
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.issues.linked import LONGEST_TITLE, find_references
from app.github.pulls.earlier_pull_request import is_named_for
from app.github.transport import BODY, InstallationClient, NotFound

OPEN = f"{REPOSITORY}/pulls{{?state,sort,direction,per_page}}"
FILES = f"{REPOSITORY}/pulls/{{number}}/files{{?per_page}}"
MOST = 20
"""Pull requests that are looked at, those that were touched last."""
MOST_FILES = 100
"""Of one of them: a page, since whoever changes more is in everybody's way and known for it."""


async def read_neighbours(reading: RunReader, *, on_issue: bool) -> tuple[NeighbourPull, ...]:
    """Return them without the run's own, one request for the list and two for each at most.

    `on_issue`: only those that refer to the run's issue.

    https://docs.github.com/rest/pulls/pulls#list-pull-requests-files
    """
    client, number = await reading.client(), reading.request.number
    own = await reading.github.identity(client)
    sought = {"state": "open", "sort": "updated", "direction": "desc", "per_page": MOST + 1}
    found = []
    for pull in await client.getitem(OPEN, reading.url_variables(**sought)):
        ours = own.is_author(pull)
        if pull["number"] == number or (ours and is_named_for(pull["head"]["ref"], number)):
            continue
        if on_issue and not await _names_issue(reading, pull):
            continue
        found.append(
            NeighbourPull(
                number=pull["number"],
                author=(pull["user"] or {}).get("login", ""),
                title=pull["title"][:LONGEST_TITLE],
                by_writer=ours or await reading.may_show(pull),
                files=await _read_files(reading, client, pull),
            )
        )
    return tuple(found[:MOST])


async def _read_files(
    reading: RunReader, client: InstallationClient, pull: Mapping[str, Any]
) -> tuple[str, ...]:
    where = reading.url_variables(number=pull["number"], per_page=MOST_FILES)
    try:
        files = await client.getitem(FILES, where)
    except NotFound:  # closed and gone meanwhile
        return ()
    names = [[each["filename"], each.get("previous_filename")] for each in files]
    return tuple(dict.fromkeys(name for pair in names for name in pair if name))


async def _names_issue(reading: RunReader, pull: Mapping[str, Any]) -> bool:
    request, web = reading.request, reading.github.urls.web
    text = f"{pull['title']}\n\n{(pull['body'] or '')[:BODY]}"
    if str(request.number) not in text:  # spares a process for each
        return False
    try:
        named = await run_in_child(text, find_references, text, request.repository, web)
    except Exhausted:
        return False
    return request.number in named
