"""Lay installed dependencies over an agent's work tree: folders mounted, single files copied.

The agent may have put anything in their places. So each place is checked right before each command,
without following links; one that does not fit is skipped and reported. Another command of the same
run could still swap a parent folder at that moment: the mount then lands elsewhere in that one
sandbox, and exposes nothing of this machine.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from agents.errors import ToolError
from app.git.worktree.installed_dependencies import CommandMounts
from app.git.worktree.safe_open import is_absent, make_folder, write_file
from app.git.worktree.untrusted_git import RunFolders
from app.sandbox.path_permissions import make_passable
from app.sandbox.port import HOME, SCRATCH, Mount


def lay_room(places: RunFolders, furnishing: CommandMounts, owner: tuple[int, int]) -> list[Mount]:
    """Return the mounts of the run's own home and /tmp, which are kept from command to command.

    A furnishing that brings its own takes their place.
    """
    brought = {mount.target for mount in furnishing.mounts}
    room = {HOME: places.home, SCRATCH: places.tmp}
    for folder in room.values():
        if not folder.is_dir():
            _make(folder, owner, 0o700)
    return [Mount(room[at], at, writable=True) for at in room if at not in brought]


def lay_folders(
    places: RunFolders, furnishing: CommandMounts, owner: tuple[int, int], writable: bool
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
        if writable and not furnishing.writable:
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
                make_passable(places.scratch)
                _make(own, owner)
            yield Mount(own, f"/workspace/{folder}", writable=True)


def _make(folder: Path, owner: tuple[int, int], mode: int = 0o755) -> None:
    folder.mkdir(exist_ok=True)
    folder.chmod(mode)
    if os.geteuid() == 0:
        os.chown(folder, *owner)
