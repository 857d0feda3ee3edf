"""Remove old folders of runs on local clones from the data folder."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from agents.errors import TransientError
from app.git import file_lock
from app.git.worktree import remove_tree

CLONES, DATABASE, LOCK = "clones", "run.db", "lock"


async def remove_old(data_dir: Path, before: float) -> int:
    """Delete run folders unused since `before` (unix seconds); return how many.

    Folders of commands at work are locked, and stay whatever their times say.
    """
    removed = 0
    for folder in sorted((data_dir / CLONES).glob("*")):
        if folder.is_symlink() or not folder.is_dir() or _last_used(folder) >= before:
            continue
        with suppress(TransientError):
            async with file_lock(folder / LOCK, timeout=0):
                await asyncio.to_thread(remove_tree, folder)
                removed += 1
    return removed


def _last_used(folder: Path) -> float:
    return max(path.lstat().st_mtime for path in (folder, *folder.iterdir()))
