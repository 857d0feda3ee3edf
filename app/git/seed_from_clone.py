"""Seed a repository's mirror from a person's clone, so that less has to be downloaded.

Nobody vouches for a clone: its branches may hold anything, even borrowed objects of another
repository. So a clone fills a second mirror, which then fetches from GitHub and keeps only commits
that GitHub's own branches lead to. No sandbox ever sees the rest.
"""

from __future__ import annotations

import contextlib
import shutil

from agents.errors import FettleError
from app.git.locks import file_lock
from app.git.mirror.mirror import Mirror
from app.git.user_clone import UserClone
from app.sandbox.path_permissions import make_passable

LENT = "refs/fettle/lent"


async def seed(mirror: Mirror, clone: UserClone, remote: str, url: str, token: str | None) -> bool:
    """Fill a new mirror from the clone and GitHub; return whether that succeeded.

    `remote` is the clone's name for GitHub. A faulty clone does no harm: the mirror then starts
    empty, like any other.
    """
    if await mirror.has_branches():
        return False
    make_passable(mirror.gitdir.parent)
    beside = mirror.open_sibling("lent")
    lock = beside.gitdir.with_name(f"{beside.gitdir.name}.busy")
    with contextlib.suppress(FettleError):
        async with file_lock(lock, timeout=0):
            return await _seed(mirror, beside, clone, remote, (url, token))
    return False


async def _seed(
    mirror: Mirror, beside: Mirror, clone: UserClone, remote: str, source: tuple[str, str | None]
) -> bool:
    shutil.rmtree(beside.gitdir, ignore_errors=True)  # of a process that was killed
    try:
        if not await clone.lend(beside, remote, LENT):
            return False
        await beside.fetch(*source)
        await beside.forget(LENT)
        await beside.compact()
        return await mirror.take_over(beside)
    finally:
        shutil.rmtree(beside.gitdir, ignore_errors=True)
