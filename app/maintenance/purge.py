"""Delete everything that is kept about a repository: rows, mirror, work trees, set-ups."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from agents.errors import RunError
from app.git import file_lock, remove_mirror
from app.git.worktree import remove_tree
from app.store.database import Database
from app.store.engine_tables import find_unended
from app.store.repository_rows import (
    conducted_about,
    delete_books,
    delete_conducted,
    delete_deliveries,
    delete_runs,
    live_of,
    some_runs,
    split_ids,
    told_about,
)

PASSES = 3
"""What arrives while it is forgotten is forgotten, too; whoever goes on sending is still there."""


class PurgedCounts(NamedTuple):
    """How many rows and files were deleted."""

    runs: int
    deliveries: int


class StillLive(RunError):
    """A run of the repository is under way."""


async def forget(
    database: Database, data_dir: Path, ids: Collection[int], *, alone: bool
) -> PurgedCounts:
    """Delete everything about these repositories.

    Raises StillLive, unless no other process is at work (`alone`). After an interruption it can be
    repeated, since the rows that lead to the others go last.
    """
    runs = deliveries = 0
    for _ in range(PASSES):
        told, conducted = await told_about(database, ids), await conducted_about(database, ids)
        if not alone and await _live(database, ids, conducted):
            if runs or deliveries:
                break
            raise StillLive("A run of it is under way.")
        ended = await _runs(database, data_dir, ids, live=alone)
        for some in split_ids(conducted):
            await database.write(partial(delete_conducted, conducted=some))
        for some in split_ids(told):
            await database.write(partial(delete_deliveries, told=some))
        runs, deliveries = runs + ended, deliveries + len(told)
        if not ended and not told:
            break
    if not alone and await _live(database, ids, await conducted_about(database, ids)):
        return PurgedCounts(runs, deliveries)  # somebody asked for something new: theirs to have
    for ident in ids:
        await remove_mirror(data_dir / "mirrors", ident)
        await _remove_set_ups(data_dir / "setups", ident)
    await database.write(partial(delete_books, ids=ids))
    return PurgedCounts(runs, deliveries)


async def _live(database: Database, ids: Collection[int], conducted: Sequence[str]) -> bool:
    """Tell whether anything of it is at work.

    A run's row says that it has ended before its last step is recorded, and a command has no row:
    of both the engine would write down more, after everything else was deleted.
    """
    if await database.read(lambda c: live_of(c, ids)):
        return True
    for some in split_ids(conducted):
        if await database.read(partial(find_unended, ids=some)):
            return True
    return False


async def _runs(database: Database, data_dir: Path, ids: Collection[int], *, live: bool) -> int:
    """Delete runs in transactions that are short, and their work trees; return how many."""
    number = 0
    while found := await database.read(lambda c: some_runs(c, ids, live=live)):
        for run_id in found:
            await asyncio.to_thread(remove_tree, data_dir / "runs" / run_id)
        await database.write(partial(delete_runs, run_ids=found))
        number += len(found)
    return number


async def _remove_set_ups(root: Path, ident: int) -> None:
    folder = root / str(ident)
    if folder.exists():
        async with file_lock(root / f"{ident}.lock"):
            await asyncio.to_thread(remove_tree, folder)
