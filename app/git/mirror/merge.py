"""Merge two histories, or parts of two trees, within a bare repository, without a work tree."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from functools import partial
from pathlib import Path

from agents.errors import RunError
from app.git.environment import CommitIdentity
from app.git.errors import GitFailed
from app.git.git_runner import OUTPUT_LIMIT
from app.git.objects import GitObjects, TreeChange
from app.git.ref_names import object_id, require_revision
from app.sandbox.output_buffer import FullBuffer

MOST_FILES, MOST_BYTES = 200_000, 4_000_000_000
"""Limits of either side of a merge: the same as of a checkout."""

_SECONDS = 60
_MEMORY = 2_000_000_000
"""Bytes that git may allocate: trees can be made to look endless, also those of older commits."""

# Attributes would come from the tree of whoever asks for the merge; what they name is not there.
_NO_ATTRIBUTES = {"GIT_ATTR_SOURCE": "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
_NOBODY = CommitIdentity("Fettle", "fettle@localhost").environment()
"""Of commits that merges alone see."""
_CONTRADICTING = 1


async def merge(
    objects: GitObjects, ours: str, theirs: str, base: str = ""
) -> tuple[str, list[str]]:
    """Merge two commits as git does; return the tree, and the paths in conflict.

    `base`: what both are taken to be built on, whatever their histories say; that is how a commit
    is picked onto a branch that was rewritten.
    Raises RunError when git cannot merge them at all.
    https://git-scm.com/docs/git-merge-tree
    """
    for side in (ours, theirs):
        await objects.require_checkout_size(object_id(side), files=MOST_FILES, total=MOST_BYTES)
    if base:
        ours, theirs = await _graft(objects, base, ours, theirs)
    said = FullBuffer(OUTPUT_LIMIT)
    how = ("--write-tree", "-z", "--name-only", "--no-messages")
    try:
        await objects.git.local(
            "merge-tree",
            *how,
            object_id(ours),
            object_id(theirs),
            out=said,
            environment=_NO_ATTRIBUTES,
            timeout=_SECONDS,
            memory=_MEMORY,
        )
    except RunError as error:
        if not isinstance(error, GitFailed) or error.code != _CONTRADICTING or not said.data():
            raise RunError(
                f"{ours[:12]} and {theirs[:12]} cannot be merged by git alone: {error} Merge them "
                f"by hand, then ask again."
            ) from error
    tree, *paths = said.data().decode("utf-8", "surrogateescape").split("\0")[:-1]
    return object_id(tree), list(dict.fromkeys(paths))


async def _graft(objects: GitObjects, base: str, *sides: str) -> list[str]:
    """Return commits with the trees of these, whose only parent has the tree of `base`.

    `git merge-tree --merge-base` would do without them; it came with git 2.40.
    """
    run = partial(objects.git.local, "commit-tree", "-m", "graft", environment=_NOBODY)
    root = (await run(f"{object_id(base)}^{{tree}}")).decode().strip()
    made = [await run("-p", object_id(root), f"{object_id(each)}^{{tree}}") for each in sides]
    return [each.decode().strip() for each in made]


async def overlay(objects: GitObjects, old: str, new: str, paths: Collection[str]) -> str:
    """Return the tree of `old` with these paths as in `new`, absent ones included."""
    wanted = set(paths)
    changes = [each for each in await objects.changes(old, new) if each.path in wanted]
    with tempfile.TemporaryDirectory(prefix="fettle-index-") as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        run = partial(objects.git.local, environment=index, timeout=_SECONDS, memory=_MEMORY)
        await run("read-tree", require_revision(old))
        await run("update-index", "-z", "--index-info", stdin=b"".join(map(_entry, changes)))
        made = await run("write-tree")
    return object_id(made.decode().strip())


def _entry(change: TreeChange) -> bytes:
    """Return the line that gives a path what it has in the other tree; mode 0 takes it away."""
    return f"{change.mode} {change.oid}\t{change.path}\0".encode("utf-8", "surrogateescape")
