"""Symbolic links in the place of mounts within mounts, where nothing can be mounted.

The outer folder belongs to the agent, so it is entered step by step with O_NOFOLLOW (open(2)).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from agents.errors import RunError
from app.sandbox.mount_points import find_nested_mounts
from app.sandbox.port import Mount

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def link_nested(mounts: Sequence[Mount], owner: tuple[int, int]) -> None:
    """Make a link at the place of each mount that lies within another.

    The link belongs to `owner`: git refuses a `.git` of somebody else (safe.directory,
    git-config(1)). Raises RunError when something else is in the place.
    """
    for mount, place in find_nested_mounts(mounts):
        outer = next(m.source for m in mounts if place.is_relative_to(m.source))
        try:
            with _enter(outer, place.relative_to(outer).parent) as folder:
                _link(str(mount.source), place.name, folder, owner)
        except OSError as error:
            raise RunError(
                f"The sandbox needs the place of `{mount.target}`, which something else takes: "
                f"{error.strerror}. Remove it from the repository, or use a sandbox that holds."
            ) from error


@contextmanager
def _enter(outer: Path, inner: Path) -> Iterator[int]:
    folder = os.open(outer, _FOLDER)
    try:
        for part in inner.parts:
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=folder)
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def _link(source: str, name: str, folder: int, owner: tuple[int, int]) -> None:
    try:
        if os.readlink(name, dir_fd=folder) == source:
            return
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError:  # no link: an empty folder that somebody made to mount on
        os.rmdir(name, dir_fd=folder)
    with suppress(FileExistsError):  # another command of this run was faster
        os.symlink(source, name, dir_fd=folder)
        if os.geteuid() == 0:
            os.chown(name, *owner, dir_fd=folder, follow_symlinks=False)
