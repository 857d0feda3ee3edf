"""What the sandbox's user can get at, and why not: the riddle that bwrap does not solve."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from agents.errors import ConfigError


def make_passable(folder: Path) -> None:
    """Make a folder that every user may pass but not list, whatever the umask.

    One that is there already is left as it is: its mode is somebody's decision.
    """
    if not folder.is_dir():
        make_passable(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)


def require_reach(paths: Iterable[Path], owner: tuple[int, int]) -> None:
    """Raise ConfigError, naming directory and remedy, unless this user can enter each path."""
    for path in paths:
        _require_one(path, owner)


def _require_one(path: Path, owner: tuple[int, int]) -> None:
    if not path.exists():
        raise ConfigError(f"The sandbox needs `{path}`, which is not there. Create or restore it.")
    real = path.resolve()
    folders = [*reversed(real.parents), real] if real.is_dir() else [*reversed(real.parents)]
    for folder in folders:
        if not _may_enter(folder.stat(), owner):
            raise ConfigError(
                f"The sandbox runs as user {owner[0]}, who may not enter `{folder}` on the way to "
                f"`{path}`. Put `{path}` elsewhere, for example below /srv or /var/lib, or run "
                f"`chmod o+x {folder}`."
            )


def require_interpreter(toolchain: Path, visible: Iterable[Path]) -> None:
    """Raise ConfigError when the toolchain's Python lies where the sandbox sees nothing.

    A virtual environment is a folder of links to an interpreter elsewhere.
    """
    interpreter = toolchain / "bin" / "python"
    if not interpreter.is_symlink():
        return
    real = interpreter.resolve()
    if not any(real.is_relative_to(folder.resolve()) for folder in visible):
        raise ConfigError(
            f"The toolchain `{toolchain}` uses the Python `{real}`, which the sandbox cannot see. "
            f"Make it with an interpreter below /usr, or add `{real.parent.parent}` to "
            f"FETTLE_TOOLCHAINS."
        )


def _may_enter(status: os.stat_result, owner: tuple[int, int]) -> bool:
    uid, gid = owner
    if status.st_uid == uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
