"""From a wish to its result: what must hold before a run on a clone, and what stays after it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from pydantic import SecretStr

from agents.errors import ConfigError
from app.clone.ask_person import CloneWaits
from app.clone.log import logging_to
from app.clone.preconditions import CloneStart
from app.clone.result import CloneResult
from app.clone.run import CloneRequest, CloneRun, RunLocation
from app.clone.run_folder import DONE, FAILED, run_folder
from app.config.settings import Settings
from app.git.worktree import remove_tree
from app.secrets.redaction import Redactor
from app.wiring.resources import open_parts


async def resolve_clone(
    settings: Settings,
    redactor: Redactor,
    start: CloneStart,
    wish: CloneRequest,
    stop: asyncio.Event,
) -> CloneResult:
    """Run a pipeline on a clone: resolve, or the one that is for the wish's request.

    Raises ConfigError when it cannot begin. Once `stop` is set it raises Cancelled, and CloneWaits
    when it waits for a person who is not there; the same wish goes on from there.
    """
    asked = (str(start.clone.git.gitdir), start.head.commit, *wish.asked)
    async with run_folder(
        settings.data_dir, *asked, choose=wish.choose_again, again=wish.again
    ) as folder:
        with logging_to(folder.log, settings, redactor, wish.tell):
            result = await _resolve(settings, redactor, wish, RunLocation(start, folder), stop)
        failed = result.outcome.kind == "failed"
        folder.put_aside(FAILED if failed else DONE)
        return replace(result, kept=folder.path if failed else None)


async def _resolve(
    settings: Settings,
    redactor: Redactor,
    wish: CloneRequest,
    place: RunLocation,
    stop: asyncio.Event,
) -> CloneResult:
    folder = place.folder
    own = settings.model_copy(  # a database and a name of its own: no other process takes this run
        update={"database_url": SecretStr(folder.database_url), "worker": "fettle"}
    )
    try:
        async with open_parts(own, redactor) as parts:
            run = CloneRun(parts, wish, place)
            wish.tell(_describe_start(place))
            return await run.result(await run.outcome(stop))
    except CloneWaits:
        remove_tree(folder.work_trees)  # made anew when it goes on, which may be days from now
        raise
    except ConfigError:
        if not folder.resumed:  # nothing was paid for yet
            folder.remove()
        raise


def _describe_start(place: RunLocation) -> str:
    where = f"{place.start.head.commit[:10]} ({place.start.head.branch or 'no branch checked out'})"
    folder = place.folder
    which = "failed" if folder.earlier else "interrupted"
    how = f"Going on with the {which} run at" if folder.resumed else "Working on"
    return f"{how} {where}, as run {folder.run_id}; what is not committed there is left out."
