"""The places for mounts within mounts, made before bubblewrap starts, and never symbolic links.

bubblewrap makes a place that is missing, which then lies in the work tree, and follows a symbolic
link that somebody put there. The outer folder may be an agent's, so it is entered step by step
with O_NOFOLLOW (open(2)).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from agents.errors import RunError
from app.sandbox.port import Mount

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def find_nested_mounts(mounts: Sequence[Mount]) -> list[tuple[Mount, Path]]:
    """Return each mount that lies within another one, with its place in the outer one's source."""
    found = []
    for mount in mounts:
        target = PurePosixPath(mount.target)
        outer = [m for m in mounts if m is not mount and target.is_relative_to(m.target)]
        if outer:
            nearest = max(outer, key=lambda m: len(m.target))
            found.append((mount, nearest.source / target.relative_to(nearest.target)))
    return found


def make_mount_points(mounts: Sequence[Mount], owner: tuple[int, int]) -> None:
    """Make a folder, or for a file an empty file, at each place, and remove what else lies there.

    Raises RunError when something is in the way that cannot be removed.
    """
    for mount, place in find_nested_mounts(mounts):
        outer = next(m for m in mounts if m is not mount and place.is_relative_to(m.source))
        if not outer.source.is_dir() or not mount.source.exists():
            continue  # bubblewrap will say so
        try:
            _make(outer.source, place.relative_to(outer.source).parts, mount, owner)
        except OSError as error:
            raise RunError(
                f"The sandbox needs the place of `{mount.target}`, which something else takes: "
                f"{error.strerror}. Remove it from the repository, then ask again."
            ) from error


def _make(outer: Path, parts: Sequence[str], mount: Mount, owner: tuple[int, int]) -> None:
    folder = os.open(outer, _FOLDER)
    try:
        for part in parts[:-1]:
            folder = _enter_or_make(folder, part, owner)
        if mount.source.is_dir():
            folder = _enter_or_make(folder, parts[-1], owner)
        else:
            _make_empty_file(folder, parts[-1], owner)
    finally:
        os.close(folder)


def _enter_or_make(folder: int, name: str, owner: tuple[int, int]) -> int:
    """Enter the folder of this name, which is made if need be; closes the one it is in."""
    try:
        found = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:  # nothing there, a link, or a file
        _remove(folder, name)
        os.mkdir(name, 0o755, dir_fd=folder)
        found = os.open(name, _FOLDER, dir_fd=folder)
        _change_owner(found, owner)
    os.close(folder)
    return found


def _make_empty_file(folder: int, name: str, owner: tuple[int, int]) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        found = os.open(name, flags, dir_fd=folder)
    except OSError:
        _remove(folder, name)
        found = os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
        _change_owner(found, owner)
    os.close(found)


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _change_owner(found: int, owner: tuple[int, int]) -> None:
    if os.geteuid() == 0:
        os.fchown(found, *owner)
