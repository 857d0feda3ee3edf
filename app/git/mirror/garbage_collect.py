"""Free disk space in mirrors: hidden refs of finished runs, and whole unused mirrors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from app.git.locks import file_lock
from app.git.mirror.mirror import Mirror
from app.git.ref_names import RUN_REFS, run_refs
from app.git.worktree import remove_tree

GC_SECONDS = 300.0


def mirror_ids(root: Path) -> Iterator[int]:
    """Yield the ids of repositories that have a mirror here."""
    for found in sorted(root.glob("*.git")):
        if found.stem.isdecimal():
            yield int(found.stem)


def last_used(gitdir: Path) -> float:
    """Return when the mirror last received objects, in unix seconds."""
    places = (gitdir, gitdir / "packed-refs", gitdir / "objects", gitdir / "objects" / "pack")
    return max((place.stat().st_mtime for place in places if place.exists()), default=time.time())


async def runs_kept(mirror: Mirror) -> set[str]:
    """Return the ids of runs whose commits the mirror keeps."""
    listed = await mirror.git.local("for-each-ref", "--format=%(refname)", f"{RUN_REFS}/")
    return {line.removeprefix(f"{RUN_REFS}/").split("/")[0] for line in listed.decode().split()}


async def let_go(mirror: Mirror, run_ids: Collection[str]) -> None:
    """Delete the hidden refs of these runs, and old objects that no ref leads to.

    https://git-scm.com/docs/git-prune
    """
    for run_id in run_ids:
        await mirror.forget(run_refs(run_id))
    async with mirror.lock():
        await mirror.git.local("gc", "--quiet", "--prune=2.weeks.ago", timeout=GC_SECONDS)


async def remove_mirror(root: Path, repository_id: int) -> None:
    """Delete the mirror; the lock file stays for processes that wait for it."""
    gitdir = root / f"{repository_id}.git"
    if gitdir.exists():
        async with file_lock(root / f"{gitdir.name}.lock"):
            await asyncio.to_thread(remove_tree, gitdir)
