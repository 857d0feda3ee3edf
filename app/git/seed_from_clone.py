"""Begin the mirror of a repository with what a person's clone has of it: that need not be loaded.

A clone is a stranger's word: what it calls the branches of GitHub may be anything, even objects of
another repository that it borrows. So it fills a mirror beside the real one, which then asks GitHub
itself, and keeps only what GitHub's own branches lead to. No sandbox ever sees the rest.
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
    """Make a mirror that has nothing yet, out of the clone and GitHub; return whether it was done.

    `remote` is the clone's name for GitHub. Whatever is wrong with the clone, nothing is lost: the
    mirror then begins with nothing, as all others do.
    """
    if await mirror.known():
        return False
    make_passable(mirror.gitdir.parent)
    beside = mirror.beside("lent")
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
