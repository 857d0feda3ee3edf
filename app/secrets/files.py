"""Secrets as files of the data folder: read where only their owner could write, and written whole.

`secrets/app/` holds what belongs to one App and is read all together; beside it in `secrets/` lies
what has nothing to do with the App. Each file is named like the variable that it stands for.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from agents.errors import ConfigError

FOLDER, APP = "secrets", "app"
OF_APP = (
    "FETTLE_APP_ID",
    "FETTLE_PRIVATE_KEY",
    "FETTLE_WEBHOOK_SECRETS",
    "FETTLE_GITHUB_URL",
    "FETTLE_WEBHOOK_URL",
    "FETTLE_CLIENT_ID",
    "FETTLE_CLIENT_SECRET",
    "FETTLE_PAGES_URL",
)
ALONE = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "FETTLE_ENCRYPTION_KEYS")
SIGN_IN = frozenset({"FETTLE_CLIENT_ID", "FETTLE_CLIENT_SECRET"})
CREDENTIALS = (*OF_APP[:3], "FETTLE_PRIVATE_KEY_FILE")
LARGEST = 64 * 1024


@dataclass(frozen=True)
class SecretFiles:
    """What the files say, and which of them cannot be trusted: variable and reason."""

    values: dict[str, str] = field(default_factory=dict)
    problems: tuple[tuple[str, str], ...] = ()


class _Unsafe(Exception):
    """Somebody else than their owner could have read or written the secrets."""


def app_folder(data_dir: Path) -> Path:
    """Return the folder of the App's files."""
    return data_dir / FOLDER / APP


def kept_in(data_dir: Path) -> SecretFiles:
    """Return the contents of this data folder's secret files; missing files are no fault."""
    values: dict[str, str] = {}
    problems = []
    for folder, names in ((data_dir / FOLDER, ALONE), (app_folder(data_dir), OF_APP)):
        for name in names:
            try:
                text = _read(folder, name, data_dir)
            except _Unsafe as unsafe:
                problems.append((name, str(unsafe)))
                continue
            if text is not None:
                values[name] = text
    return SecretFiles(values, tuple(problems))


def kept_beside(given: Collection[str], data_dir: Path) -> SecretFiles:
    """Return what the files add to the variables in `given`, whose names are in lower case.

    A variable wins over its file. The App's id, key and webhook secrets go together: with one of
    them given, none of the App's files is read. So do what people sign in with, id and secret.
    """
    kept = kept_in(data_dir)
    unread = {name for name in (*OF_APP, *ALONE) if name.lower() in given}
    if any(name.lower() in given for name in CREDENTIALS):
        unread |= set(OF_APP)
    if unread & SIGN_IN:
        unread |= SIGN_IN
    return SecretFiles(
        {name: text for name, text in kept.values.items() if name not in unread},
        tuple(each for each in kept.problems if each[0] not in unread),
    )


def read_of_app(data_dir: Path, name: str) -> str | None:
    """Return one of the App's files; None when it is missing or cannot be trusted."""
    with suppress(_Unsafe):
        return _read(app_folder(data_dir), name, data_dir)
    return None


def stamp_of_app(data_dir: Path, name: str) -> tuple[int, ...] | None:
    """Return a value that changes with each rewrite of the file; None when it is missing."""
    with suppress(OSError):
        found = (app_folder(data_dir) / name).lstat()
        return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size)
    return None


def describe_existing_app(data_dir: Path) -> str:
    """Return the message for an operator who would overwrite an App."""
    return (
        f"An App is set up already, in `{app_folder(data_dir)}`. To take another one instead, add "
        "`--replace`: what is there is moved aside, not deleted."
    )


# --- reading ------------------------------------------------------------------------------------


def _read(folder: Path, name: str, data_dir: Path) -> str | None:
    """Return the file's text without the line end at its end; None when it is not there."""
    path = folder / name
    try:
        trusted = {0, os.geteuid(), data_dir.stat().st_uid}  # whose the data is has the secrets
        for above in {data_dir / FOLDER, folder}:
            _check_folder(above, trusted)
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _Unsafe(f"its file {path} is a link. Put the file itself there") from None
        raise _Unsafe(f"its file {path} cannot be read: {error.strerror}") from None
    with os.fdopen(opened, "rb") as file:
        _check_file(os.fstat(file.fileno()), path, trusted)
        data = file.read(LARGEST + 1)
    if not data.strip():
        return None
    try:
        return data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise _Unsafe(f"its file {path} is not text") from None


def _check_folder(folder: Path, trusted: set[int]) -> None:
    found = folder.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise _Unsafe(f"{folder} is a link. Put the folder itself there")
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError
    if found.st_uid not in trusted or found.st_mode & 0o022:
        raise _Unsafe(f"others may write to {folder}. Run `chmod 700 {folder}`, as its owner")


def _check_file(found: os.stat_result, path: Path, trusted: set[int]) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _Unsafe(f"{path} is not an ordinary file")
    if found.st_size > LARGEST:
        raise _Unsafe(f"its file {path} is too large to be a secret")
    if found.st_uid not in trusted:
        raise _Unsafe(f"its file {path} belongs to another user, {found.st_uid}")
    if found.st_mode & 0o027:  # a group may read it, as system administrators arrange it
        raise _Unsafe(
            f"its file {path} can be read or written by others. Run `chmod 600 {path}`, and "
            "replace the secret if others have accounts here"
        )


ROOM = 32 * 1024
ENTERED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def keep_app(data_dir: Path, values: Mapping[str, str], *, replace: bool = False) -> Path:
    """Write the App's files, all or none, and return their folder.

    Existing files are moved aside, and only with `replace`. Raises ConfigError when they may not be
    replaced, or the folder is unfit for secrets.
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
                raise ConfigError(describe_existing_app(data_dir)) from error
            raise
        os.fsync(folder)
    return app_folder(data_dir)


def require_room(data_dir: Path) -> None:
    """Write and remove as many bytes as an App's secrets take. Raises ConfigError on failure.

    GitHub shows a new App's key once, so a full disk would lose it.
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
    """Write a secret that is not the App's, over an older one. Raises ConfigError."""
    with _secrets_folder(data_dir) as (folder, owner):
        _write_over(folder, name, text, owner)
    return data_dir / FOLDER / name


def keep_of_app(data_dir: Path, name: str, text: str) -> None:
    """Write one of the App's files atomically, over an older one. Raises ConfigError, OSError."""
    with _secrets_folder(data_dir) as (folder, owner), _enter_folder(folder, APP) as inside:
        _write_over(inside, name, text, owner)


def drop_of_app(data_dir: Path, name: str) -> None:
    """Delete one of the App's files, if it exists."""
    with _secrets_folder(data_dir) as (folder, _), _enter_folder(folder, APP) as inside:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=inside)
        os.fsync(inside)


@contextmanager
def only_one(data_dir: Path) -> Iterator[None]:
    """Lock the App's secrets while they are replaced. Raises ConfigError while they are locked."""
    with _secrets_folder(data_dir) as (folder, _), _enter_folder(folder, APP) as inside:
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
    with _enter_folder(folder, name) as inside:
        for variable, text in values.items():
            _write(inside, variable, text, owner)
        os.fchown(inside, *owner)  # last: until then nobody else could enter it
        os.fsync(inside)


@contextmanager
def _enter_folder(folder: int, name: str) -> Iterator[int]:
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
    with _enter_folder(folder, name) as inside:
        for each in os.listdir(inside):  # noqa: PTH208 - Path has no descriptors
            os.unlink(each, dir_fd=inside)
    os.rmdir(name, dir_fd=folder)
