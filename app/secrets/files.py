"""Secrets as files of the data folder: read only when nobody but their owner could write them.

`secrets/app/` holds what belongs to one App and is read all together; beside it in `secrets/` lies
what has nothing to do with the App. Each file is named like the variable that it stands for.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

FOLDER, APP = "secrets", "app"
OF_APP = (
    "FETTLE_APP_ID",
    "FETTLE_PRIVATE_KEY",
    "FETTLE_WEBHOOK_SECRETS",
    "FETTLE_GITHUB_URL",
    "FETTLE_WEBHOOK_URL",
)
ALONE = ("ANTHROPIC_API_KEY", "FETTLE_ENCRYPTION_KEYS")
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
    """Return where the App's files are."""
    return data_dir / FOLDER / APP


def kept_in(data_dir: Path) -> SecretFiles:
    """Return what the files of this data folder say; none is no fault."""
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
    """Return what the files add to the variables that are given, named in lower case.

    A variable wins over its file. Id, key and webhook secrets of an App go together: with one of
    them given, no file of the App is read.
    """
    kept = kept_in(data_dir)
    unread = {name for name in (*OF_APP, *ALONE) if name.lower() in given}
    if any(name.lower() in given for name in CREDENTIALS):
        unread |= set(OF_APP)
    return SecretFiles(
        {name: text for name, text in kept.values.items() if name not in unread},
        tuple(each for each in kept.problems if each[0] not in unread),
    )


def read_of_app(data_dir: Path, name: str) -> str | None:
    """Return what one of the App's files says; None when it is not there, or not to be trusted."""
    with suppress(_Unsafe):
        return _read(app_folder(data_dir), name, data_dir)
    return None


def stamp_of_app(data_dir: Path, name: str) -> tuple[int, ...] | None:
    """Return what changes whenever the file is written anew; None when it is not there."""
    with suppress(OSError):
        found = (app_folder(data_dir) / name).lstat()
        return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size)
    return None


def already(data_dir: Path) -> str:
    """Return what an operator reads who would write over an App."""
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
