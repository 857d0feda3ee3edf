"""Decide at the machine what runs wait for: straight in the database, as whoever is logged in."""

from __future__ import annotations

import asyncio
import json as json_module
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.errors import ConfigError
from agents.text import printable
from agents.text.literal import literal
from app.cli.declaration import DatabaseFile, Json
from app.cli.runs.approval_prompt import place_of, show_question
from app.cli.storage.databases import RunDatabase, list_places, of_each, open_database
from app.cli.terminal import DONE, FAILED, say
from app.config.system_user import find_operator

if TYPE_CHECKING:
    from app.records.approvals import StoredApproval
    from app.store.runs import ApprovalDecision

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

LONGEST_LINE = 100

Ident = Annotated[str, typer.Argument(metavar="ID", help="The approval, as the question names it.")]
ReasonOption = Annotated[
    list[str] | None, typer.Argument(metavar="REASON", help="Why, for the model and for people.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Decide without being asked once more.")]


@dataclass(frozen=True)
class FoundApproval:
    """An approval, and where it was found."""

    stored: StoredApproval
    place: RunDatabase


def approvals(*, json: Json = False, database: DatabaseFile = None) -> None:
    """List what waits."""
    found = asyncio.run(_find_waiting(_places(database)))
    if json:
        typer.echo(json_module.dumps([_describe(each) for each in found], indent=2))
    elif not found:
        say("Nothing waits for a decision.")
    else:
        _list(found)


def approve(ident: Ident, *, yes: Yes = False, database: DatabaseFile = None) -> None:
    """Approve one call."""
    sys.exit(asyncio.run(_decide(ident, "approved", "", yes=yes, where=_places(database))))


def deny(
    ident: Ident, reason: ReasonOption = None, *, yes: Yes = False, database: DatabaseFile = None
) -> None:
    """Deny one call."""
    words = " ".join(reason or ())
    sys.exit(asyncio.run(_decide(ident, "denied", words, yes=yes, where=_places(database))))


# --- where they are -------------------------------------------------------------------------------


def _places(file: Path | None) -> list[RunDatabase]:
    from app.config.settings import load_settings

    return list_places(load_settings(serving=False), file)


async def _find_waiting(where: list[RunDatabase]) -> list[FoundApproval]:
    from app.store.runs import StoredApprovals

    told = await of_each(where, lambda database: StoredApprovals(database).list_waiting())
    return [FoundApproval(each, place) for place, waiting in told for each in waiting]


async def _find(ident: str, where: list[RunDatabase]) -> FoundApproval | None:
    from app.store.runs import StoredApprovals

    name = ident.strip().lower()
    told = await of_each(where, lambda database: StoredApprovals(database).get(name))
    return next(
        (FoundApproval(stored, place) for place, stored in told if stored is not None), None
    )


# --- deciding -------------------------------------------------------------------------------------


async def _decide(
    ident: str, verdict: ApprovalDecision, reason: str, *, yes: bool, where: list[RunDatabase]
) -> int:
    from app.store.runs import StoredApprovals

    found = await _find(ident, where)
    if found is None:
        say(f"There is no approval `{printable(ident)}`. `fettle approvals` lists what waits.")
        return FAILED
    if found.stored.asking is None and verdict == "approved":
        say(
            f"The record of {found.stored.id} is damaged: it no longer says what was asked, so it"
            f" cannot be approved. `fettle deny {found.stored.id}` lets the run go on without it."
        )
        return FAILED
    show_question(found.stored)
    if found.stored.state == "waiting" and not yes and not _confirm(verdict):
        say("Nothing was decided.")
        return FAILED
    with open_database(found.place) as database:
        answered = await StoredApprovals(database).decide(
            found.stored.id,
            verdict=verdict,
            by=find_operator(),
            by_id=None,
            via="terminal",
            reason=reason,
        )
    if answered is None or not answered.counted:
        now = answered.approval if answered else found.stored
        say(f"{now.id} {now.standing}. The first answer counts, so nothing was changed.")
        return DONE if now.state == verdict else FAILED
    say(f"{verdict.capitalize()}. {_next(found, verdict)}")
    return DONE


def _confirm(verdict: ApprovalDecision) -> bool:
    """Ask whoever sits there. Raises ConfigError when nobody does."""
    if not sys.stdin.isatty():
        raise ConfigError("There is no terminal to ask on. Say --yes if you mean it.")
    question = "Let exactly this run, once?" if verdict == "approved" else "Refuse this?"
    return typer.confirm(question, default=False, err=True)


def _next(found: FoundApproval, verdict: ApprovalDecision) -> str:
    what = "with this call" if verdict == "approved" else "without this call"
    if found.place.clone:
        return f"Give the same `fettle resolve` once more: it goes on from there, {what}."
    return f"The run goes on by itself within seconds, {what}."


# --- what people see ------------------------------------------------------------------------------


def _list(found: list[FoundApproval]) -> None:
    console = Console()
    if not console.is_terminal:
        for each in found:
            typer.echo(
                "\t".join(
                    [each.stored.id, place_of(each.stored), _line(each), _spell_deadline(each)]
                )
            )
        return
    table = Table("id", "for", "call", "answer until", box=None, padding=(0, 2))
    for each in found:
        table.add_row(
            *(
                Text(t)
                for t in (each.stored.id, place_of(each.stored), _line(each), _spell_deadline(each))
            )
        )
    console.print(table)
    say("`fettle approve ID` shows all of it, then asks; `fettle deny ID REASON` refuses it.")


def _line(found: FoundApproval) -> str:
    """Return the call in one line: enough to know it again, not to decide on."""
    asking = found.stored.asking
    if asking is None:
        return "(the record is damaged)"
    text = " ".join(literal(asking.arguments).text.split())
    line = f"{printable(asking.tool)}: {text}"
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def _spell_deadline(found: FoundApproval) -> str:
    return found.stored.standing.removeprefix("waits for an answer until ")


def _describe(found: FoundApproval) -> dict[str, Any]:
    stored, asking = found.stored, found.stored.asking
    return {
        "id": stored.id,
        "run": stored.run_id,
        "repository": stored.repository,
        "number": stored.number or None,
        "clone": found.place.clone,
        "expires_at": stored.expires_at,
        "asking": asking.model_dump(mode="json") if asking else None,
    }
