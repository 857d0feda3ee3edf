"""The commands `fettle address`, `fettle update` and `fettle undo`: what is on GitHub already."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agents.errors import ConfigError
from app.cli.declaration import JsonAtEnd

if TYPE_CHECKING:
    from app.operator.issue_reference import IssueName
    from app.operator.issue_request import RequestKind

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

What = Annotated[
    str,
    typer.Argument(
        metavar="PULL",
        help="OWNER/REPO#31, the pull request's address, or a repository with 31 behind it.",
    ),
]
Where = Annotated[
    str,
    typer.Argument(
        metavar="ISSUE",
        help="OWNER/REPO#25, an issue's or pull request's address, or a repository with 25 behind.",
    ),
]
More = Annotated[str | None, typer.Argument(metavar="[NUMBER]", help="Its number.")]


def address(what: What, more: More = None, *, json: JsonAtEnd = False) -> None:
    """Address the reviews of a pull request."""
    sys.exit(asyncio.run(_work_on("address", "address_review", what, more, json=json)))


def update(what: What, more: More = None, *, json: JsonAtEnd = False) -> None:
    """Bring a pull request up to date with its base."""
    sys.exit(asyncio.run(_work_on("update", "update_branch", what, more, json=json)))


def undo(what: Where, more: More = None) -> None:
    """Take back what the last run did."""
    sys.exit(asyncio.run(_undo(what, more)))


async def _undo(what: str, more: str | None) -> int:
    named = _read_name("undo", what, more)

    # This takes seconds: a mistake is told before.
    from app.cli.resolve.work_on_issue import AtTheTerminal
    from app.cli.terminal import redactor_of
    from app.config.settings import load_settings

    settings = load_settings()
    return await AtTheTerminal(settings, redactor_of(settings), json=False).take_back(named)


async def _work_on(
    command: str, kind: RequestKind, what: str, more: str | None, *, json: bool
) -> int:
    named = _read_name(command, what, more)

    # This takes seconds: a mistake is told before.
    from app.cli.resolve.work_on_issue import work_on
    from app.config.settings import load_settings
    from app.operator.issue_request import Wanted

    return await work_on(load_settings(), Wanted(named, kind), json=json)


def _read_name(command: str, what: str, more: str | None) -> IssueName:
    """Return what is meant. Raises ConfigError for what names nothing on GitHub."""
    from app.config.settings import load_settings
    from app.operator.issue_reference import issue_named, kind_of

    settings = load_settings(serving=False)
    named = issue_named(
        what,
        more,
        github_url=settings.github_url,
        repositories=settings.repositories,
        command=command,
    )
    if named is None:
        said = " ".join([what, more or ""]).strip()
        raise ConfigError(
            f"`{said}` is no {kind_of(command)}. Write `fettle {command} OWNER/REPO#31`, or its"
            " address."
        )
    return named
