"""Which folders the sandbox's user may enter, with a message that names the folder and the remedy.

bwrap itself says only that a path could not be found.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

from cachetools import LRUCache

from agents.errors import ConfigError
from app.sandbox.port import Mount


def make_passable(folder: Path) -> None:
    """Make a folder that every user may pass but not list (mode 0711), whatever the umask.

    A folder that is there already keeps its mode, which is somebody's decision.
    """
    if not folder.is_dir():
        make_passable(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)


def give(folder: Path, owner: tuple[int, int], mode: int = 0o755) -> None:
    """Make a folder that belongs to this user, where Fettle may give it away."""
    make_passable(folder.parent)
    folder.mkdir(exist_ok=True)
    folder.chmod(mode)
    if os.geteuid() == 0:
        os.chown(folder, *owner)


def lay_files(folder: Path, files: Mapping[str, bytes], owner: tuple[int, int]) -> None:
    """Put files into a folder that this user has not seen yet, each for that user alone."""
    for name, data in files.items():
        path = folder / name
        missing = [each for each in path.relative_to(folder).parents if each.name]
        for each in reversed(missing):
            give(folder / each, owner, 0o700)
        path.write_bytes(data)
        path.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(path, *owner)


def give_copy(original: Path, copied: Path, owner: tuple[int, int]) -> None:
    """Make a copy, files and folders, that belongs to this user; all of it is there or nothing."""
    make_passable(copied.parent)
    made = copied.with_name(f"{copied.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    options = ("-R", "-P", "--preserve=mode,timestamps,links", "--reflink=auto")
    for command in (
        ("/bin/cp", *options, "--", str(original), str(made)),
        ("/bin/chown", "-hR", f"{owner[0]}:{owner[1]}", "--", str(made)),
    ):
        subprocess.run(command, check=True, capture_output=True)
    made.rename(copied)


def make_data_folder(folder: Path) -> None:
    """Make the operator's data folder. Raises ConfigError, which says what to do."""
    try:
        make_passable(folder)
    except OSError as error:
        raise ConfigError(
            f"The data folder `{folder}` cannot be made: {error.strerror}. Make it for the user "
            "that runs Fettle, or set FETTLE_DATA_DIR to a folder of that user's."
        ) from error


def require_reach(paths: Iterable[Path], owner: tuple[int, int]) -> None:
    """Raise ConfigError, which names folder and remedy, unless this user can enter each path."""
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


class WritablePaths:
    """Remembers the folders that commands may write to, below which nothing may be mounted.

    Whoever may write to a folder may put a link in the place of what lies in it, and the mount
    would show what the link points at.
    """

    def __init__(self, owner: tuple[int, int], users: Container[int] = ()) -> None:
        """`users`: the numbers of all who run commands, where those are several."""
        own = os.geteuid()
        self._agents = users or ([owner[0]] if owner[0] != own else [])
        self._known: LRUCache[Path, None] = LRUCache(10_000)

    def check(self, mounts: Sequence[Mount]) -> None:
        """Raise ConfigError for a mount whose source an agent could have swapped."""
        shown = [(mount, mount.source) for mount in mounts]
        shown += [(mount, mount.changes) for mount in mounts if mount.changes]
        above = {parent: mount for mount, source in shown for parent in source.parents}
        for parent, mount in above.items():
            if parent in self._known or self._belongs_to_agents(parent):
                raise ConfigError(
                    f"The sandbox is to show `{mount.source}`, but commands of agents may "
                    f"write to `{parent}` and could put a link there to anything. Put it "
                    f"where only Fettle may write."
                )
        for mount in mounts:
            if mount.writable:
                self._known[mount.source] = None

    def _belongs_to_agents(self, folder: Path) -> bool:
        try:
            return folder.stat().st_uid in self._agents
        except OSError:
            return False


def require_toolchains(toolchains: Sequence[Path], owner: tuple[int, int]) -> None:
    """Raise ConfigError where the sandbox's user cannot enter a toolchain or run its Python."""
    require_reach(toolchains, owner)
    for toolchain in toolchains:
        _require_interpreter(toolchain, (Path("/usr"), *toolchains))


def _require_interpreter(toolchain: Path, visible: Iterable[Path]) -> None:
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
