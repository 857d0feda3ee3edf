"""Read the policy file of a commit from git, for local clones without GitHub."""

from __future__ import annotations

from typing import Literal

from agents.policy import (
    POLICY_PATH,
    FolderEntry,
    Found,
    InvalidPolicy,
    MissingPolicy,
    PolicyFault,
    PolicyOrigin,
    found_in,
    listed_policy,
)
from app.git.objects import GitObjects
from app.git.ref_names import require_revision

FOLDER = POLICY_PATH.partition("/")[0]


async def policy_of(objects: GitObjects, commit: str) -> Found:
    """Return the policy of that commit, or its faults."""
    entry = listed_policy(await _entries(objects, commit))
    if entry is None:
        return MissingPolicy()
    if isinstance(entry, PolicyFault):
        return InvalidPolicy((entry,), PolicyOrigin())
    return found_in(await objects.blob(entry.id), PolicyOrigin())


async def _entries(objects: GitObjects, commit: str) -> list[FolderEntry]:
    """Return what the folder holds; nothing where it is none."""
    asked = ("ls-tree", "-z", "--long", "--full-tree", require_revision(commit), "--", f"{FOLDER}/")
    listed = await objects.git.local(*asked)
    entries = listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [_parse_entry(entry) for entry in entries]


def _parse_entry(entry: str) -> FolderEntry:
    about, _, path = entry.partition("\t")
    mode, _, oid, size = about.split()
    return FolderEntry(
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
