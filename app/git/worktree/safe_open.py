"""Open files below an agent's work tree; the kernel's openat2 refuses links and `..`."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents.errors import ConfigError, ToolError

_OPENAT2 = 437  # the same number on every machine
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PERMISSIONS = 0o777


class NoSuchPath(ToolError):
    """The path does not exist."""


class _OpenHow(ctypes.Structure):
    """`struct open_how` of openat2(2)."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


@contextmanager
def open_file(root: Path, path: str) -> Iterator[int]:
    """Return the descriptor of a regular file below root. Raises ToolError for anything else.

    https://man7.org/linux/man-pages/man2/openat2.2.html
    """
    name = "/".join(_parts(path))
    with _folder(root) as top:
        fd = _open(top, name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, path)
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise ToolError(f"`{path}` is {_kind(mode)}, not a file. Name a file.")
        yield fd
    finally:
        os.close(fd)


def read_file(root: Path, path: str, limit: int) -> bytes:
    """Return a regular file's bytes. Raises ToolError for anything else, or above `limit` bytes."""
    with open_file(root, path) as fd, os.fdopen(fd, "rb", closefd=False) as file:
        size = os.fstat(fd).st_size
        data = file.read(limit + 1) if size <= limit else b""
    if max(size, len(data)) > limit:
        raise ToolError(
            f"`{path}` has {size} bytes, more than {limit}. Read a part of it, for example with "
            f"`sed -n 1,200p`."
        )
    return data


def write_file(root: Path, path: str, data: bytes, owner: tuple[int, int]) -> None:
    """Create or replace a regular file below root atomically; it keeps its mode, and gets `owner`.

    Raises ToolError for a path that leaves root, or that is something other than a regular file.
    """
    *folders, name = _parts(path)
    with _folder(root) as top, _make_folders(top, folders, owner, path) as parent:
        mode = _mode_of(parent, name, path)
        fresh = f".fettle-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(fresh, flags, 0o600, dir_fd=parent)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                if os.geteuid() == 0:
                    os.fchown(fd, *owner)
                os.fchmod(fd, mode)
            os.replace(fresh, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(fresh, dir_fd=parent)
            raise


def make_folder(root: Path, path: str, owner: tuple[int, int]) -> None:
    """Create a folder if it is missing. Raises ToolError when something else is in the way."""
    with _folder(root) as top, _make_folders(top, _parts(path), owner, path):
        pass


def is_absent(root: Path, path: str) -> bool:
    """Tell whether the path does not exist. Raises ToolError when it leaves root."""
    *folders, name = _parts(path)
    try:
        with _folder(root) as top, _entered_all(top, folders, path) as parent:
            os.stat(name, dir_fd=parent, follow_symlinks=False)
    except (FileNotFoundError, NoSuchPath):
        return True
    return False


def take_out(root: Path, path: str, target: Path) -> int:
    """Move the path to `target` on the same disk; return its mode.

    Raises ToolError when the path does not exist or leaves root.
    """
    *folders, name = _parts(path)
    with _folder(root) as top, _entered_all(top, folders, path) as parent:
        try:
            os.rename(name, target, src_dir_fd=parent)
        except OSError as error:
            raise _refusal(error.errno or 0, path) from error
    return target.lstat().st_mode


def _parts(path: str) -> list[str]:
    parts = path.split("/")
    if not path or "\0" in path or any(part in {"", ".", ".."} for part in parts):
        raise ToolError(
            f"`{path!r}` is not a path in the repository. Give one relative to its root, without "
            f"`.` or `..`, like `src/main.py`."
        )
    if any(part.casefold() == ".git" for part in parts):
        raise ToolError(f"`{path}` belongs to git itself. Use git in bash for that.")
    return parts


@contextmanager
def _folder(root: Path) -> Iterator[int]:
    fd = os.open(root, _DIRECTORY | os.O_NOFOLLOW)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _make_folders(top: int, folders: list[str], owner: tuple[int, int], path: str) -> Iterator[int]:
    """Give the folder that these names lead to, making those that are missing."""
    current = os.dup(top)
    try:
        for folder in folders:
            below = _enter_folder(current, folder, owner, path)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


@contextmanager
def _entered_all(top: int, folders: list[str], path: str) -> Iterator[int]:
    """Give the folder that these names lead to."""
    if not folders:
        yield top
        return
    fd = _open(top, "/".join(folders), _DIRECTORY, path)
    try:
        yield fd
    finally:
        os.close(fd)


def _enter_folder(parent: int, folder: str, owner: tuple[int, int], path: str) -> int:
    made = True
    try:
        os.mkdir(folder, 0o755, dir_fd=parent)
    except FileExistsError:
        made = False
    fd = _open(parent, folder, _DIRECTORY, path)
    if made and os.geteuid() == 0:
        os.fchown(fd, *owner)
    return fd


def _mode_of(parent: int, name: str, path: str) -> int:
    """Return the mode that a file written here gets: that of the file it replaces, if any."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return 0o644
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"`{path}` is {_kind(status.st_mode)}, not a file. Choose another name.")
    return stat.S_IMODE(status.st_mode) & _PERMISSIONS


def _open(parent: int, path: str, flags: int, asked: str) -> int:
    how = _OpenHow(flags | os.O_NOFOLLOW, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
    libc = ctypes.CDLL(None, use_errno=True)
    size = ctypes.c_size_t(ctypes.sizeof(how))
    name = ctypes.c_char_p(os.fsencode(path))
    fd = libc.syscall(ctypes.c_long(_OPENAT2), ctypes.c_int(parent), name, ctypes.byref(how), size)
    if fd < 0:
        raise _refusal(ctypes.get_errno(), asked)
    return int(fd)


def _refusal(number: int, path: str) -> Exception:
    if number == errno.ENOSYS:
        return ConfigError("The kernel has no openat2. Fettle needs Linux 5.6 or later.")
    if number == errno.ENOENT:
        return NoSuchPath(f"`{path}` does not exist.")
    if number == errno.ENOTDIR:
        return ToolError(f"`{path}` passes something that is not a folder.")
    if number in {errno.ELOOP, errno.EXDEV}:
        return ToolError(f"`{path}` is or passes a symbolic link. Use the path it points to.")
    return ToolError(f"`{path}` cannot be opened: {os.strerror(number)}.")


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a special file"
