"""Write secrets as files of the data folder: for their owner alone, whole, never over others."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from agents.errors import ConfigError
from app.secrets.files import APP, FOLDER, already, app_folder

ROOM = 32 * 1024
ENTERED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def keep_app(data_dir: Path, values: Mapping[str, str], *, replace: bool = False) -> Path:
    """Write the App's files, all or none, and return their folder.

    What was there before is moved aside, and only with `replace`. Raises ConfigError when it is
    there and may not be replaced, or when the folder is not fit for secrets.
    """
    with _secrets_folder(data_dir) as (folder, owner):
        new = f".{APP}-{secrets.token_hex(6)}"
        os.mkdir(new, 0o700, dir_fd=folder)
        try:
            _fill(folder, new, values, owner)
            if replace:
                _move_aside(folder)
            os.rename(new, APP, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            _remove(folder, new)
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
                raise ConfigError(already(data_dir)) from error
            raise
        os.fsync(folder)
    return app_folder(data_dir)


def require_room(data_dir: Path) -> None:
    """Write as much as an App's secrets are, and take it away. Raises ConfigError if it fails.

    GitHub gives a new App's key out once: what cannot be written then is lost.
    """
    try:
        with _secrets_folder(data_dir) as (folder, owner):
            probe = f".probe-{secrets.token_hex(6)}"
            try:
                _write(folder, probe, "x" * ROOM, owner)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(probe, dir_fd=folder)
    except OSError as error:
        raise ConfigError(
            f"Secrets cannot be written to `{data_dir / FOLDER}`: {error.strerror}. Run this as "
            "the user that owns the data folder, have room there, or set FETTLE_DATA_DIR to "
            "another folder."
        ) from error


def keep_alone(data_dir: Path, name: str, text: str) -> Path:
    """Write a secret that does not belong to the App, over an older one. Raises ConfigError."""
    with _secrets_folder(data_dir) as (folder, owner):
        _write_over(folder, name, text, owner)
    return data_dir / FOLDER / name


def keep_of_app(data_dir: Path, name: str, text: str) -> None:
    """Write one of the App's files, over an older one, at once. Raises ConfigError, OSError."""
    with _secrets_folder(data_dir) as (folder, owner), _inside(folder, APP) as inside:
        _write_over(inside, name, text, owner)


def drop_of_app(data_dir: Path, name: str) -> None:
    """Remove one of the App's files, if it is there."""
    with _secrets_folder(data_dir) as (folder, _), _inside(folder, APP) as inside:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=inside)
        os.fsync(inside)


@contextmanager
def only_one(data_dir: Path) -> Iterator[None]:
    """Replace secrets of the App one at a time. Raises ConfigError while another process does."""
    with _secrets_folder(data_dir) as (folder, _), _inside(folder, APP) as inside:
        try:
            fcntl.flock(inside, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                "Another process replaces a secret of the App at this moment. Wait for its end."
            ) from None
        yield


# --- writing: by descriptors, so that nobody can put a link in the way ---------------------------


@contextmanager
def _secrets_folder(data_dir: Path) -> Iterator[tuple[int, tuple[int, int]]]:
    """Open the folder, made if need be, and tell who is to own what is written to it."""
    whole = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        holder = os.fstat(whole)
        owner = (holder.st_uid, holder.st_gid) if os.geteuid() == 0 else (-1, -1)
        made = _make_folder(whole)
        try:
            folder = os.open(FOLDER, ENTERED, dir_fd=whole)
        except OSError as error:
            raise ConfigError(
                f"`{data_dir / FOLDER}` is no folder for secrets: {error.strerror}. Take it away."
            ) from error
        try:
            if made:
                os.fchown(folder, *owner)
            _require_private(folder, data_dir / FOLDER)
            yield folder, owner
        finally:
            os.close(folder)
    finally:
        os.close(whole)


def _make_folder(whole: int) -> bool:
    try:
        os.mkdir(FOLDER, 0o700, dir_fd=whole)
    except FileExistsError:
        return False
    return True


def _require_private(folder: int, path: Path) -> None:
    found = os.fstat(folder)
    holders = {0, os.geteuid()} if os.geteuid() else {0, path.parent.stat().st_uid}
    if found.st_mode & 0o022 or found.st_uid not in holders:
        raise ConfigError(f"Others may write to `{path}`. Run `chmod 700 {path}`, as its owner.")


def _fill(folder: int, name: str, values: Mapping[str, str], owner: tuple[int, int]) -> None:
    with _inside(folder, name) as inside:
        for variable, text in values.items():
            _write(inside, variable, text, owner)
        os.fchown(inside, *owner)  # last: until then nobody else could enter it
        os.fsync(inside)


@contextmanager
def _inside(folder: int, name: str) -> Iterator[int]:
    inside = os.open(name, ENTERED, dir_fd=folder)
    try:
        yield inside
    finally:
        os.close(inside)


def _write_over(folder: int, name: str, text: str, owner: tuple[int, int]) -> None:
    """Write the file beside the one that is there, then put it in its place."""
    for left in os.listdir(folder):
        if left.startswith(f".{name}-"):  # by a process that was killed in here
            os.unlink(left, dir_fd=folder)
    new = f".{name}-{secrets.token_hex(6)}"
    try:
        _write(folder, new, text, owner)
        os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(new, dir_fd=folder)
        raise
    os.fsync(folder)


def _write(folder: int, name: str, text: str, owner: tuple[int, int]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)  # whatever the umask
        os.fchown(file.fileno(), *owner)
        file.write(f"{text.rstrip()}\n")
        file.flush()
        os.fsync(file.fileno())


def _move_aside(folder: int) -> None:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = f"{APP}-replaced-{stamp}-{secrets.token_hex(2)}"
    try:
        os.rename(APP, aside, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        return


def _remove(folder: int, name: str) -> None:
    with _inside(folder, name) as inside:
        for each in os.listdir(inside):  # noqa: PTH208 - Path has no descriptors
            os.unlink(each, dir_fd=inside)
    os.rmdir(name, dir_fd=folder)
