"""Make what strangers' commands left behind safe to keep: ours, readable, and plain."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_ALL, _READ = 0o755, 0o644


def seal(folder: Path) -> int:
    """Take everything below over, and return its size in bytes.

    Folders, files and links stay, all others go: a pipe would hang whoever reads it. No link is
    followed. Nothing may run in there any more.
    """
    size = 0
    os.chown(folder, os.geteuid(), os.getegid())
    folder.chmod(_ALL)
    for _, folders, files, parent in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            size += _seal_one(name, parent)
    return size


def _seal_one(name: str, parent: int) -> int:
    about = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not (stat.S_ISDIR(about.st_mode) or stat.S_ISREG(about.st_mode) or _is_link(about)):
        os.unlink(name, dir_fd=parent)
        return 0
    if (about.st_uid, about.st_gid) != (os.geteuid(), os.getegid()):
        os.chown(name, os.geteuid(), os.getegid(), dir_fd=parent, follow_symlinks=False)
    if not _is_link(about):
        runs = stat.S_ISDIR(about.st_mode) or about.st_mode & 0o111
        os.chmod(name, _ALL if runs else _READ, dir_fd=parent)
    return about.st_blocks * 512


def _is_link(about: os.stat_result) -> bool:
    return stat.S_ISLNK(about.st_mode)
