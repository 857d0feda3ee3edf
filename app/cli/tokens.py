"""The commands `fettle token`: what programs read the pages with."""

from __future__ import annotations

import asyncio
import json as json_text
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console
from rich.table import Table

from agents.errors import ConfigError
from app.cli.declaration import Json, ManualGroup, add
from app.cli.terminal import say

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from app.store.database import Database
    from app.store.pages.tokens import ApiToken, TokenRight

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

MOST_DAYS = 366
LONGEST_NAME = 60
Name = Annotated[str, typer.Argument(metavar="NAME", help="What the token is for.")]

token = typer.Typer(
    cls=ManualGroup,
    name="token",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


def new(
    name: Name,
    *,
    repository: Annotated[
        list[str] | None,
        typer.Option("--repository", metavar="OWNER/NAME", help="One of those that it is for."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="For all repositories, Spend and Audit.")
    ] = False,
    may: Annotated[
        list[str] | None,
        typer.Option("--may", metavar="RIGHT", help="What it may besides: alerts, steer."),
    ] = None,
    days: Annotated[
        int, typer.Option("--days", min=1, max=MOST_DAYS, help="How long it holds.")
    ] = 90,
) -> None:
    """Make a token, and print it."""
    from app.config.system_user import find_operator
    from app.store.pages.tokens import RIGHTS

    rights = {"read", *(may or ())}
    if unknown := sorted(rights.difference(RIGHTS)):
        raise ConfigError(f"There is no right `{unknown[0]}`. --may takes alerts or steer.")
    if bool(repository) == everything:
        raise ConfigError("Say what it is for: --repository OWNER/NAME, or --all.")
    if not name.isprintable() or len(name) > LONGEST_NAME:
        raise ConfigError(f"The name has to be at most {LONGEST_NAME} printable characters.")
    chosen = cast("set[TokenRight]", rights)
    secret = asyncio.run(_make(name, chosen, repository, days, find_operator()))
    say("This is shown once. Send it as `Authorization: Bearer`; `fettle token end` ends it.")
    typer.echo(secret)


def list_tokens(*, json: Json = False) -> None:
    """List the tokens that hold."""
    found, names = asyncio.run(_list())
    if json:
        typer.echo(json_text.dumps([_describe(each, names) for each in found], indent=2))
    elif not found:
        say("There is no token.")
    else:
        _show([_describe(each, names) for each in found])


def end(name: Name) -> None:
    """End a token."""
    if not asyncio.run(_end(name)):
        raise ConfigError(f"There is no token `{name}`. `fettle token list` says which there are.")
    say(f"`{name}` lets nobody in any more.")


add(token, new, "Make a token, and print it.", name="new")
add(token, list_tokens, "List the tokens that hold.", name="list")
add(token, end, "End a token.", name="end")


async def _make(
    name: str, rights: set[TokenRight], wanted: list[str] | None, days: int, by: str
) -> str:
    from app.store.pages.tokens import ApiTokens, find_repository_ids

    with _open() as database:
        ids = None
        if wanted:
            found = await database.read(lambda c: find_repository_ids(c, wanted))
            if missing := [each for each in wanted if each not in found]:
                words = f"Fettle's App is not installed on `{missing[0]}`, as far as it knows."
                raise ConfigError(words)
            ids = found.values()
        secret = await ApiTokens(database).make(name, rights, ids, days=days, by=by)
    if secret is None:
        raise ConfigError(f"There is a token `{name}`. End it first, or take another name.")
    return secret


async def _list() -> tuple[list[ApiToken], dict[int, str]]:
    from app.store.pages.tokens import ApiTokens, read_repository_names

    with _open() as database:
        found = await ApiTokens(database).list_all()
        return found, await database.read(read_repository_names)


async def _end(name: str) -> bool:
    from app.store.pages.tokens import ApiTokens

    with _open() as database:
        return await ApiTokens(database).end(name)


def _open() -> AbstractContextManager[Database]:
    from app.cli.storage.databases import known_places, open_database
    from app.config.settings import load_settings

    served = [place for place in known_places(load_settings(serving=False)) if not place.clone]
    if not served:
        raise ConfigError("There is no server's database yet. Start `fettle serve` first.")
    return open_database(served[0])


def _describe(found: ApiToken, names: dict[int, str]) -> dict[str, object]:
    ids = found.repositories
    return {
        "name": found.name,
        "repositories": None if ids is None else sorted(names.get(each, str(each)) for each in ids),
        "rights": sorted(found.rights),
        "made_by": found.made_by,
        "made_at": found.made_at,
        "expires_at": found.expires_at,
        "used_at": found.used_at,
    }


def _show(rows: list[dict[str, Any]]) -> None:
    from app.views.text import format_moment

    table = Table("Name", "For", "May", "Until", "Last used", box=None, pad_edge=False)
    for row in rows:
        used = format_moment(row["used_at"]) if row["used_at"] else "never"
        places = "everything" if row["repositories"] is None else ", ".join(row["repositories"])
        until = format_moment(row["expires_at"])
        table.add_row(row["name"], places, ", ".join(row["rights"]), until, used)
    Console().print(table)
