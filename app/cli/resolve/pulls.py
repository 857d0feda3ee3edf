"""The commands `fettle address` and `fettle update`: work on a pull request on GitHub."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agents.errors import ConfigError
from app.cli.declaration import JsonAtEnd

if TYPE_CHECKING:
    from app.operator.issue_request import Kind

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

What = Annotated[
    str,
    typer.Argument(
        metavar="PULL",
        help="OWNER/REPO#31, the pull request's address, or a repository with 31 behind it.",
    ),
]
More = Annotated[str | None, typer.Argument(metavar="[NUMBER]", help="The pull request's number.")]


def address(what: What, more: More = None, *, json: JsonAtEnd = False) -> None:
    """Address the reviews of a pull request."""
    sys.exit(asyncio.run(_work_on("address", "address_review", what, more, json=json)))


def update(what: What, more: More = None, *, json: JsonAtEnd = False) -> None:
    """Bring a pull request up to date with its base."""
    sys.exit(asyncio.run(_work_on("update", "update_branch", what, more, json=json)))


async def _work_on(command: str, kind: Kind, what: str, more: str | None, *, json: bool) -> int:
    from app.config.settings import load_settings
    from app.operator.issue_reference import issue_named

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
            f"`{said}` is no pull request. Write `fettle {command} OWNER/REPO#31`, or its address."
        )
    settings = load_settings()

    # This takes seconds: a mistake is told before.
    from app.cli.resolve.work_on_issue import work_on
    from app.operator.issue_request import Wanted

    return await work_on(settings, Wanted(named, kind), json=json)
