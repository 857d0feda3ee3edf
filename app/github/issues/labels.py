"""Labels that show where a run stands: added, removed, and created where they are missing."""

from __future__ import annotations

from contextlib import suppress

from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.transport import InstallationClient, NotFound, Profile, Unprocessable

ON_ISSUE = f"{REPOSITORY}/issues/{{number}}/labels"
LABELS = f"{REPOSITORY}/labels"
COLOUR = "bfd4f2"
LONGEST_DESCRIPTION = 100
"""Characters that GitHub takes."""


async def set_label(reading: RunReader, name: str, *, on: bool, description: str) -> None:
    """Add the label to the run's issue, or remove it; at most four requests.

    https://docs.github.com/rest/issues/labels
    """
    client = await reading.client(Profile.REPORT)
    where = reading.url_variables(number=reading.request.number, name=name)
    if not on:
        await _take_off(client, where)
        return
    placed = await client.getitem(f"{ON_ISSUE}{{?per_page}}", {**where, "per_page": "100"})
    if any(label["name"].lower() == name.lower() for label in placed):
        return
    await make_label(client, where, description)
    await client.post(ON_ISSUE, where, data={"labels": [name]})


async def _take_off(client: InstallationClient, where: dict[str, str]) -> None:
    try:
        await client.delete(f"{ON_ISSUE}/{{name}}", where)
    except NotFound:
        return  # it is not on, or the issue is gone and with it the label


async def make_label(
    client: InstallationClient,
    where: dict[str, str],
    description: str,
    *,
    colour: str = COLOUR,
    yielding: bool = False,
) -> bool:
    """Create the label unless the repository has it, in any colour; return whether it was new."""
    try:
        await client.getitem(f"{LABELS}/{{name}}", where)
        return False
    except NotFound:
        pass
    words = description[:LONGEST_DESCRIPTION]
    data = {"name": where["name"], "color": colour, "description": words}
    with suppress(Unprocessable):  # made meanwhile; if it was not, putting it on says why
        await client.post(LABELS, where, data=data, yielding=yielding)
        return True
    return False
