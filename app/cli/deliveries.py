"""The commands `fettle receive` and `fettle redeliver`: one delivery, by hand."""

from __future__ import annotations

import asyncio
import json as json_text
import re
import sys
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agents.errors import ConfigError
from app.cli.declaration import JsonObject
from app.cli.terminal import DONE, FAILED, redactor_of, say
from app.views.text import make_visible, redact, to_line

if TYPE_CHECKING:
    from agents.requests import Command, Request
    from app.config.settings import Settings
    from app.operator.receive_payload import Received
    from app.operator.redeliver import Redelivered
    from app.records.deliveries import Attempt
    from app.webhooks import Delivery
    from handlers.notifications import Notification

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

LONGEST = 200
NOTHING = 204
"""What the door answers to what nothing handles."""
_GUID = re.compile(r"[A-Za-z0-9-]{1,80}")

Event = Annotated[str, typer.Argument(metavar="EVENT", help="Like issues.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The payload; - is standard input.")]
Guid = Annotated[str, typer.Argument(metavar="GUID", help="X-GitHub-Delivery.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show it and write nothing.")]


def receive(event: Event, file: File, *, dry_run: DryRun = False, json: JsonObject = False) -> None:
    """Receive one payload."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    sys.exit(asyncio.run(_receive(settings, event, _read(file), dry_run=dry_run, json=json)))


def redeliver(guid: Guid) -> None:
    """Ask for one delivery."""
    from app.config.settings import load_settings

    if not _GUID.fullmatch(guid):
        raise ConfigError(f"`{make_visible(guid)}` is no X-GitHub-Delivery.")
    sys.exit(asyncio.run(_redeliver(load_settings(serving=False), guid)))


# --- receive --------------------------------------------------------------------------------------


def _read(file: Path) -> bytes:
    return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()


async def _receive(
    settings: Settings, event: str, body: bytes, *, dry_run: bool, json: bool
) -> int:
    from pydantic import ValidationError

    from app.operator.receive_payload import receive as received
    from app.webhooks import Delivery

    try:
        found = received(event, body)
    except ValidationError as error:
        places = sorted({".".join(map(str, each["loc"])) for each in error.errors()})
        shown = make_visible(", ".join(places))
        say(f"Not of the shape that `{make_visible(event)}` promises: {shown}.")
        return FAILED
    kept = None
    if isinstance(found.said, Delivery) and _requests(found) and not dry_run:
        await _keep(settings, found.said)
        kept = found.said.id
    facts = redact(_facts(found, kept), redactor_of(settings))
    if json:
        typer.echo(json_text.dumps(facts, indent=2))
    else:
        _show(facts, event, dry_run=dry_run)
    return DONE


async def _keep(settings: Settings, delivery: Delivery) -> None:
    from app.cli.storage.databases import list_places, open_database
    from app.operator.receive_payload import put_in

    for place in list_places(settings, None):
        if not place.clone:
            with open_database(place) as database:
                await put_in(database, delivery)
            return
    raise ConfigError(
        "There is no database of a server yet. Start `fettle serve` once, or say --dry-run."
    )


def _requests(found: Received) -> tuple[Request | Command | Notification, ...]:
    from handlers.ignored import Ignored

    if found.asked is None or isinstance(found.asked, Ignored):
        return ()
    return found.asked if isinstance(found.asked, tuple) else (found.asked,)


def _facts(found: Received, kept: str | None) -> dict[str, Any]:
    from app.webhooks import ImmediateAnswer
    from handlers.ignored import Ignored

    let_in = not isinstance(found.said, ImmediateAnswer)
    status, text = (202, "accepted") if let_in else (found.said[0], found.said[1])
    return {
        "door": {"status": status, "text": text},
        "asked": [each.model_dump(mode="json") for each in _requests(found)],
        "ignored": found.asked.reason if isinstance(found.asked, Ignored) else None,
        "delivery": kept,
    }


def _show(facts: dict[str, Any], event: str, *, dry_run: bool) -> None:
    door = facts["door"]
    typer.echo(f"The door: {' '.join([str(door['status']), door['text']]).strip()}")
    if facts["ignored"] is not None:
        typer.echo(f"The front desk: nothing, {make_visible(facts['ignored'])}")
    for each in facts["asked"]:
        what = each.get("verb") or each["kind"]
        name = f"{each['repository']['owner']}/{each['repository']['name']}"
        where = f"{name}#{each['number']}" if each.get("number") else name
        who = each.get("asked_by", {}).get("login", "")
        words = f": {each['title']}" if "title" in each else ""
        told = f"The front desk: {what} on {where}{f' for {who}' if who else ''}{words}"
        typer.echo(to_line(told, LONGEST))
    if facts["delivery"] is not None:
        say(f"It is in the inbox as {facts['delivery']}. `fettle serve` takes it within seconds.")
    elif facts["asked"] and dry_run:
        say("Nothing was written.")
    else:
        say(f"{_suggest_event(event) if door['status'] == NOTHING else ''}Nothing comes of it.")


def _suggest_event(event: str) -> str:
    """Return that there is no such event here, and which may be meant; empty where there is."""
    from handlers import EVENTS

    if event in EVENTS:
        return ""
    near = get_close_matches(event, sorted(EVENTS), n=1)
    meant = f"; `{near[0]}` is near" if near else ""
    return f"Fettle asks GitHub for no event `{make_visible(event)}`{meant}. "


# --- redeliver ------------------------------------------------------------------------------------


async def _redeliver(settings: Settings, guid: str) -> int:
    from app.github.transport.app_deliveries import AppDeliveries
    from app.operator.redeliver import redeliver as redelivered
    from app.wiring.serve import open_github

    redactor = redactor_of(settings)
    async with open_github(settings, redactor) as github:
        log = AppDeliveries(github.app)
        found = await redelivered(log, guid, on_found=lambda known: _tell(known[0]))
    if not found.attempts:
        say("GitHub has no such delivery of this App, or none any more: it keeps them for days.")
        return FAILED
    return _tell_attempt(found)


def _tell(newest: Attempt) -> None:
    when = f"{datetime.fromtimestamp(newest.at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    what = ".".join(filter(None, [newest.event, newest.action]))
    typer.echo(to_line(f"{what}, last tried {when}: {_status(newest)}", LONGEST))


def _tell_attempt(found: Redelivered) -> int:
    if found.new is None:
        say("Asked for. GitHub has not said yet what came of it.")
        return DONE
    answer = f" {found.answer}" if found.answer else ""
    typer.echo(to_line(f"Delivered again: {_status(found.new)}{answer}", LONGEST))
    return DONE if found.new.ok else FAILED


def _status(attempt: Attempt) -> str:
    return f"answered {attempt.status}" if attempt.status else "no answer"
