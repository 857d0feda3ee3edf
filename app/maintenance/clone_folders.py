"""Remove old folders of runs on local clones from the data folder."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from agents.errors import TransientError
from app.git.locks import file_lock
from app.git.worktree.run_folders import remove_tree

CLONES, DATABASE, LOCK = "clones", "run.db", "lock"


async def remove_old(data_dir: Path, before: float) -> int:
    """Remove the folders in which nothing was done since then; return how many.

    Those of commands that are at work stay, whatever the files say.
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
