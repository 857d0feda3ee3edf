"""Step 4: read the policy of a commit from git itself: for clones, which no GitHub answers for."""

from __future__ import annotations

from typing import Literal

from agents.policy import (
    POLICY_PATH,
    Fault,
    Found,
    Invalid,
    Listed,
    Missing,
    Origin,
    found_in,
    listed_policy,
)
from app.git.ref_names import revision
from app.git.objects import Objects

FOLDER = POLICY_PATH.partition("/")[0]


async def policy_of(objects: Objects, commit: str) -> Found:
    """Return the policy in that commit, or what is wrong with it."""
    entry = listed_policy(await _entries(objects, commit))
    if entry is None:
        return Missing()
    if isinstance(entry, Fault):
        return Invalid((entry,), Origin())
    return found_in(await objects.blob(entry.id), Origin())


async def _entries(objects: Objects, commit: str) -> list[Listed]:
    """Return what the folder holds; nothing where it is none."""
    asked = ("ls-tree", "-z", "--long", "--full-tree", revision(commit), "--", f"{FOLDER}/")
    listed = await objects.git.local(*asked)
    entries = listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [_listed(entry) for entry in entries]


def _listed(entry: str) -> Listed:
    about, _, path = entry.partition("\t")
    mode, _, oid, size = about.split()
    return Listed(
        name=path.rpartition("/")[2],
        kind=_KINDS.get(mode, "file"),
        size=0 if size == "-" else int(size),
        id=oid,
    )


_KINDS: dict[str, Literal["symlink", "submodule", "folder"]] = {
    "120000": "symlink",
    "160000": "submodule",
    "040000": "folder",
}
