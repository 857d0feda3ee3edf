"""An entry of the dependency cache: one folder for each place where sandboxes see it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from agents.analysis.languages import VENV
from agents.errors import ToolError
from agents.ports import SetupResult
from agents.requests import Frozen
from app.dependencies.layout import BUILT, LEFT_OUT, OPENED, PLACE, PROGRAMS, WORKING, WRITTEN
from app.git.worktree import CommandMounts, is_absent, make_folder, take_out, write_file
from app.sandbox.port import HOME, Mount

MODULES = "node_modules"
PARTS = ("setup", "home", "tree", "files")
"""The folders of an entry."""

_MOST_COPIES, _MOST_COPIED = 200, 50_000_000
_MOST_FOLDERS = 500
_LISTED = 8
_COMPILED = (".so", ".pyd", ".dylib", ".node")
_TOOLCHAINS_FILE = "zz-toolchains.pth"


class Manifest(Frozen):
    """The contents of an entry; written last, so that an entry without it is incomplete."""

    result: SetupResult
    base: str
    locked: bool
    """Whether lock files name all that was installed."""
    made: float
    size: int
    within: tuple[str, ...] = ()
    """Folders of the tree; the first lies in `tree/0`."""
    scratch: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    """Files of the tree; the first lies in `files/0`."""
    home: tuple[str, ...] = ()
    """Folders of HOME, in `home`."""
    path: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """The commands that one run added to it; then it serves that run alone."""

    @property
    def compiled(self) -> bool:
        """Return whether files in the tree were compiled from the base's own sources."""
        return any(path.endswith(_COMPILED) for path in self.copies)


@dataclass
class Leavings:
    """The files taken over from a set-up's tree and HOME."""

    within: list[str] = field(default_factory=list)
    scratch: list[str] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    home: list[str] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What git ignores, and what is not kept all the same."""
    size: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on it for people."""
        if not self.left:
            return ()
        shown = ", ".join(f"`{name}`" for name in sorted(self.left)[:_LISTED])
        more = f" and {len(self.left) - _LISTED} more" if len(self.left) > _LISTED else ""
        return (f"Installing also made {shown}{more}, which runs do not see.",)


def take_over(
    building: Path, tree: Path, ignored: Iterable[str], tools: Iterable[Path]
) -> Leavings:
    """Move the files to keep into their places in `building`, and make them read-only."""
    leavings = Leavings()
    for name in ("tree", "files"):
        (building / name).mkdir()
    for path in ignored:
        if path.endswith("/"):
            _take_folder(building, tree, path.rstrip("/"), leavings)
        else:
            _take_file(building, tree, path, leavings)
    leavings.size = _seal_parts(building)
    leavings.home += _home_parts(building / "home")
    _let_see(building / "setup", tools)
    leavings.path += _programs(building, leavings.within)
    return leavings


def furnishing_of(folder: Path, manifest: Manifest) -> CommandMounts:
    """Return the read-only mounts of an entry for the commands of a work tree."""
    has_venv = (folder / "setup" / "venv" / "pyvenv.cfg").is_file()
    home = (Mount(folder / "home" / part, f"{HOME}/{part}") for part in manifest.home)
    return CommandMounts(
        mounts=(Mount(folder / "setup", PLACE), *home),
        within={path: folder / "tree" / str(n) for n, path in enumerate(manifest.within)},
        scratch=manifest.scratch,
        copies={path: folder / "files" / str(n) for n, path in enumerate(manifest.copies)},
        environment={**WORKING, **({"VIRTUAL_ENV": VENV} if has_venv else {})},
        path=manifest.path,
        added=manifest.added,
    )


def sealed_again(
    building: Path, manifest: Manifest, tools: Iterable[Path], command: str
) -> Manifest:
    """Take over a command's changes to a copy, and return what the copy holds now."""
    size = _seal_parts(building)
    _let_see(building / "setup", tools)
    within = list(manifest.within)
    if within and not any((building / "tree" / str(len(within) - 1)).iterdir()):
        within.pop()  # nothing was put into it
    folders = ((building / "tree" / str(n), path) for n, path in enumerate(within))
    return manifest.model_copy(
        update={
            "within": tuple(within),
            "scratch": tuple(each for found in folders for each in _make_written_folders(*found)),
            "home": tuple(_home_parts(building / "home")),
            "path": tuple(_programs(building, within)),
            "added": (*manifest.added, command),
            "size": size,
        }
    )


def _take_folder(building: Path, tree: Path, path: str, leavings: Leavings) -> None:
    if path.rsplit("/", 1)[-1] in BUILT or len(leavings.within) >= _MOST_FOLDERS:
        leavings.left.append(f"{path}/")
        return
    target = building / "tree" / str(len(leavings.within))
    if not stat.S_ISDIR(_take_size(tree, path, target)):
        # A link would be followed to a folder of this machine when it is mounted.
        target.unlink(missing_ok=True)
        leavings.left.append(path)
        return
    leavings.within.append(path)
    leavings.scratch += _make_written_folders(target, path)


def _make_written_folders(folder: Path, path: str) -> Iterator[str]:
    """Yield the folders that tools write to within this one of the tree; they are made."""
    if path.rsplit("/", 1)[-1] != MODULES:
        return
    for name in WRITTEN:
        try:
            make_folder(folder, name, (os.geteuid(), os.getegid()))
        except ToolError:
            continue
        yield f"{path}/{name}"


def _take_file(building: Path, tree: Path, path: str, leavings: Leavings) -> None:
    if path.endswith((".pyc", ".pyo")):
        return
    if len(leavings.copies) >= _MOST_COPIES:
        leavings.left.append(path)
        return
    target = building / "files" / str(len(leavings.copies))
    mode = _take_size(tree, path, target)
    if not stat.S_ISREG(mode):
        target.unlink(missing_ok=True)
        return
    size = target.stat().st_size
    if leavings.size + size > _MOST_COPIED:
        target.unlink()
        leavings.left.append(path)
        return
    leavings.size += size
    leavings.copies.append(path)


def _take_size(tree: Path, path: str, target: Path) -> int:
    try:
        return take_out(tree, path, target)
    except ToolError:
        return 0


def _home_parts(home: Path) -> Iterator[str]:
    """Yield the folders of HOME that are kept: real ones, all the way."""
    for opened in OPENED:
        parent = home / opened
        if any(part.is_symlink() for part in (parent, parent.parent)) or not parent.is_dir():
            continue
        for entry in sorted(os.scandir(parent), key=lambda entry: entry.name):
            part = f"{opened}/{entry.name}".lstrip("/")
            if entry.is_dir(follow_symlinks=False) and part not in {*OPENED, *LEFT_OUT}:
                yield part


def _programs(building: Path, within: Iterable[str]) -> Iterator[str]:
    """Yield the folders of programs that are there."""
    for number, path in enumerate(within):
        folder = building / "tree" / str(number)
        if (folder / "pyvenv.cfg").is_file():
            yield f"/workspace/{path}/bin"
        elif path == MODULES:
            yield f"/workspace/{path}/.bin"
        elif path == "vendor":
            yield f"/workspace/{path}/bin"
    for place in PROGRAMS:
        inside, _, rest = place.removeprefix("/").partition("/")
        source = building / "setup" / rest
        if inside != PLACE.strip("/"):
            source = building / "home" / Path(place).relative_to(HOME)
        if source.is_dir():
            yield place


def _let_see(setup: Path, toolchains: Iterable[Path]) -> None:
    """Let virtual environments import what the machine's toolchains bring, after their own."""
    brought = [p for tool in toolchains for p in tool.glob("lib/python3.*/site-packages")]
    for packages, venv in product(brought, _list_venvs(setup)):
        beside = f"{venv}/lib/{packages.parent.name}/site-packages"
        try:
            if not is_absent(setup, beside):
                owner = (os.geteuid(), os.getegid())
                write_file(setup, f"{beside}/{_TOOLCHAINS_FILE}", f"{packages}\n".encode(), owner)
        except ToolError:  # something odd stands there: then it is as it is
            continue


def _list_venvs(setup: Path) -> list[str]:
    """Return the virtual environments: the root's, and those of other folders."""
    others = setup / "venvs"
    if others.is_symlink() or not others.is_dir():
        return ["venv"]
    return ["venv", *sorted(f"venvs/{each.name}" for each in os.scandir(others))]


def _seal_parts(building: Path) -> int:
    """Seal an entry; each run then adds to the folders of HOME in a layer of its own.

    The kernel asks the folder below a layer who may write, so those stay the sandbox's user's.
    """
    about = (building / "home").stat()
    size = sum(seal(building / part) for part in PARTS)
    for part in _home_parts(building / "home"):
        _give_back(building / "home" / part, (about.st_uid, about.st_gid))
    return size


def _give_back(folder: Path, owner: tuple[int, int]) -> None:
    os.chown(folder, *owner)
    for _, folders, files, parent in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            os.chown(name, *owner, dir_fd=parent, follow_symlinks=False)


_ALL, _READ = 0o755, 0o644


def seal(folder: Path) -> int:
    """Make everything below Fettle's own and readable; return the size in bytes.

    Folders, files and links stay; pipes, sockets and devices are deleted, since a pipe would block
    its reader. No link is followed. No process may still run in there.
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
