"""Lay installed dependencies over an agent's work tree: folders mounted, single files copied.

The agent may have put anything in their places. So each place is checked right before each command,
without following links; one that does not fit is skipped and reported. Another command of the same
run could still swap a parent folder at that moment: the mount then lands elsewhere in that one
sandbox, and exposes nothing of this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from urllib.parse import quote

from agents.errors import ToolError
from app.git.worktree.installed_dependencies import CommandMounts
from app.git.worktree.run_folders import remove_tree
from app.git.worktree.safe_open import is_absent, make_folder, write_file
from app.git.worktree.untrusted_git import RunFolders
from app.sandbox.path_permissions import give, give_copy, lay_files
from app.sandbox.port import HOME, SCRATCH, UPPER, Mount


def lay_room(places: RunFolders, furnishing: CommandMounts, owner: tuple[int, int]) -> list[Mount]:
    """Return the mounts outside of the tree, on the run's own home and /tmp.

    Those two are kept from command to command; a furnishing that brings its own takes their place.
    What it only shows at home, like the packages that a compiler has fetched, the run adds to in a
    layer of its own; in a copy, where it belongs to another user, as whom the kernel writes no
    layer. Copying may take seconds.
    """
    brought = {mount.target for mount in furnishing.mounts}
    room = {HOME: places.home, SCRATCH: places.tmp}
    for folder in room.values():
        if not folder.is_dir():
            give(folder, owner, 0o700)
            if folder == places.home:
                lay_files(folder, places.home_files, owner)
    own = (Mount(room[at], at, writable=True) for at in room if at not in brought)
    return [*own, *(_add_layer(places, mount, owner) for mount in furnishing.mounts)]


def _add_layer(places: RunFolders, mount: Mount, owner: tuple[int, int]) -> Mount:
    if mount.writable or not mount.target.startswith(f"{HOME}/"):
        return mount
    name = quote(mount.target, safe="")
    if os.geteuid() != 0 or mount.source.stat().st_uid == owner[0]:
        return replace(mount, changes=places.layers / name)
    copied = places.layers / f"{name}.copy" / mount.source.name
    if not copied.exists():
        give_copy(mount.source, copied, owner)
    return replace(mount, source=copied, writable=True)


@contextlib.asynccontextmanager
async def lay_tree(places: RunFolders, *, writable: bool, layered: bool) -> AsyncIterator[Mount]:
    """Yield the mount of the files; what is written into a layer is dropped at the end."""
    dropped = places.run / f"dropped-{secrets.token_hex(6)}" if layered else None
    try:
        yield Mount(places.files, "/workspace", writable, dropped)
    finally:
        if dropped:
            await asyncio.to_thread(remove_tree, dropped)


def has_written(tree: Mount) -> bool:
    """Tell whether a command wrote into the layer over the files."""
    if tree.changes is None or not tree.changes.is_dir():
        return False
    try:
        return any((tree.changes / UPPER).iterdir())
    except PermissionError:  # it took the permissions of the repository's folder away
        return True


def lay_folders(
    places: RunFolders, furnishing: CommandMounts, owner: tuple[int, int]
) -> tuple[list[Mount], str]:
    """Return the mounts of installed folders in the tree, and a note on those that do not fit."""
    mounts, notes = [], ""
    for path, installed in furnishing.within.items():
        try:
            make_folder(places.files, path, owner)
        except ToolError as error:
            notes += f"[What was installed in `{path}` is not there: {error}]\n"
            continue
        mounts.append(Mount(installed, f"/workspace/{path}", furnishing.writable))
        if not furnishing.writable:
            mounts += _scratch(places, path, furnishing, owner)
    return mounts, notes


def lay_copies(places: RunFolders, furnishing: CommandMounts, owner: tuple[int, int]) -> None:
    """Copy each installed file to its place, unless something is there."""
    for path, original in furnishing.copies.items():
        with contextlib.suppress(ToolError):  # another commit may have other folders
            if is_absent(places.files, path):
                write_file(places.files, path, original.read_bytes(), owner)


def _scratch(
    places: RunFolders, path: str, furnishing: CommandMounts, owner: tuple[int, int]
) -> Iterator[Mount]:
    """Yield writable folders within what is read-only, each of them this run's own."""
    for number, folder in enumerate(furnishing.scratch):
        if folder.startswith(f"{path}/"):
            own = places.scratch / str(number)
            if not own.is_dir():
                give(own, owner)
            yield Mount(own, f"/workspace/{folder}", writable=True)
