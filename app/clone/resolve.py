"""From a wish to its result: what must hold before a run on a clone, and what stays after it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

from pydantic import SecretStr

from agents.errors import ConfigError
from app.clone.folder import run_folder
from app.clone.log import logging_to
from app.clone.ports import PinnedClone
from app.clone.result import CloneResult
from app.clone.run import CloneRun, Place, Wish
from app.git.local import Head
from app.redaction import Redactor
from app.settings import Settings
from app.wiring import open_parts

SHA1 = 40  # hexadecimal digits of an object id


async def resolve_clone(
    settings: Settings, redactor: Redactor, wish: Wish, stop: asyncio.Event
) -> CloneResult:
    """Run the resolve pipeline on a clone.

    Raises ConfigError when it cannot begin. Once `stop` is set it raises Cancelled, and the same
    wish goes on from there.
    """
    clone = PinnedClone(wish.path)
    head = await _usable_head(clone)
    asked = (str(clone.git.gitdir), head.commit, wish.title, wish.body)
    async with run_folder(settings.data_dir, *asked) as folder:
        with logging_to(folder.log, settings, redactor, wish.tell):
            result = await _resolve(settings, redactor, wish, Place(clone, head, folder), stop)
        if result.outcome.kind == "failed":
            folder.put_aside(history=bool(result.commits) and result.branch is None)
            return replace(result, kept=folder.path)
        folder.remove()
        return result


async def _usable_head(clone: PinnedClone) -> Head:
    """Return where the clone stands. Raises ConfigError when it cannot take a branch later on."""
    head = await clone.head()
    if len(head.commit) != SHA1:
        raise ConfigError(
            f"`{clone.git.gitdir}` names its objects by SHA-256, which Fettle does not support."
        )
    named = await clone.git.local("rev-parse", "--git-path", "objects")
    objects = Path("/", os.fsdecode(named.rstrip(b"\n")))
    if not os.access(objects, os.W_OK):
        raise ConfigError(
            f"`{objects}` cannot be written, so no branch could be left there. Run this as the"
            " clone's owner."
        )
    return head


async def _resolve(
    settings: Settings, redactor: Redactor, wish: Wish, place: Place, stop: asyncio.Event
) -> CloneResult:
    folder = place.folder
    own = settings.model_copy(  # a database and a name of its own: no other process takes this run
        update={"database_url": SecretStr(folder.database_url), "worker": "fettle"}
    )
    try:
        async with open_parts(own, redactor) as parts:
            run = CloneRun(parts, wish, place)
            wish.tell(_beginning(place))
            return await run.result(await run.outcome(stop))
    except ConfigError:
        if not folder.resumed:  # nothing was paid for yet
            folder.remove()
        raise


def _beginning(place: Place) -> str:
    where = f"{place.head.commit[:10]} ({place.head.branch or 'no branch checked out'})"
    how = "Going on with the interrupted run at" if place.folder.resumed else "Working on"
    return f"{how} {where}; what is not committed there is left out."
