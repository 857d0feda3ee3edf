"""The check run "fettle" on what a run pushed: its verdict, its evidence, what to look at in place.

https://docs.github.com/rest/checks/runs#create-a-check-run
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.requests import Request
from app.github.approvals.check_run import CHECK_RUN, CHECK_RUNS, find_check
from app.github.transport import GitHub, OutgoingText, Profile
from handlers.check_run import TRY_AGAIN, VERDICT_CHECK

NAME = "fettle"
AT_ONCE = 50
"""Annotations that GitHub takes with one request."""
MOST = 200
SHORT = 255  # characters of a title
LONG = 2_000  # characters of an annotation


@dataclass(frozen=True)
class PlacedNote:
    """One thing to look at, on a line of the change."""

    path: str
    line: int
    level: Literal["notice", "warning"]
    title: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """What a run says of the change that it pushed."""

    ready: bool
    """Nothing is left that a person has to mend."""
    title: str
    summary: str
    """Markdown, not yet fit to be published."""
    notes: Sequence[PlacedNote] = ()
    url: str = ""
    """The page of the run, where people can see it."""


async def show_verdict(
    github: GitHub, request: Request, wording: OutgoingText, head: str, verdict: Verdict
) -> None:
    """Show it on the commit, once. One that is there already only gets the notes that it lacks.

    A change that is not ready is neutral: it blocks nobody who knows better.
    """
    where = {"owner": request.repository.owner, "repo": request.repository.name}
    number = getattr(request, "number", 0)
    external = VERDICT_CHECK.format(number=number)
    client = await github.installation(
        request.installation_id, request.repository.id, Profile.REPORT
    )
    own = await github.identity(client)
    output = {
        "title": wording.title(verdict.title, SHORT),
        "summary": await wording.publish(verdict.summary),
    }
    notes = [_annotate(each, wording) for each in verdict.notes[:MOST]]
    body = {
        "name": NAME,
        "head_sha": head,
        "external_id": external,
        "status": "completed",
        "conclusion": "success" if verdict.ready else "neutral",
        **({"details_url": verdict.url} if verdict.url else {}),
        "actions": [] if verdict.ready or not number else [_offer_retry(number)],
    }
    shown = await find_check(client, own, request.repository, external, head)
    if shown is None:
        first = {**output, "annotations": notes[:AT_ONCE]}
        shown, count = await client.post(CHECK_RUNS, where, data={**body, "output": first}), AT_ONCE
    else:
        count = shown["output"]["annotations_count"]
    for begin in range(count, len(notes), AT_ONCE):
        more = {**output, "annotations": notes[begin : begin + AT_ONCE]}
        await client.patch(CHECK_RUN, {**where, "id": str(shown["id"])}, data={"output": more})


def _offer_retry(number: int) -> dict[str, str]:
    """Return the button: at most 20, 40 and 20 characters."""
    return {
        "label": "Try again",
        "description": "Take up the run that pushed this",
        "identifier": TRY_AGAIN.format(number=number),
    }


def _annotate(note: PlacedNote, wording: OutgoingText) -> dict[str, Any]:
    return {
        "path": note.path,
        "start_line": note.line,
        "end_line": note.line,
        "annotation_level": note.level,
        "title": wording.title(note.title, SHORT),
        "message": wording.title(note.text, LONG) or note.title,
    }
