"""Restore a server from a backup into an empty data folder, whole or not at all."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import ValidationError
from sqlalchemy import inspect
from sqlalchemy.exc import DatabaseError

from agents.errors import ConfigError, RunError
from app.git import RUN_REFS, GitFailed, Mirrors, object_id, require_revision
from app.maintenance.backup import (
    ABOUT,
    DATABASE,
    FORMAT,
    LARGEST_PACK,
    MIRRORS,
    SECRET,
    BackupManifest,
)
from app.sandbox.path_permissions import make_passable
from app.secrets.files import FOLDER
from app.store.database import Database
from app.store.migrations import revisions
from app.store.restore_recovery import put_back
from app.store.tables import sweeps

MIRROR = re.compile(rf"{MIRRORS}/(\d{{1,19}})-[01]\.(refs|pack)")
SMALL = 64 * 2**20
WRONG = "`{file}` is no backup of Fettle, or a damaged one{why}. Nothing was restored."


async def restore(file: Path, data_dir: Path, *, group: int) -> BackupManifest:
    """Restore the file's contents into an empty data folder.

    `group` is the group of the sandbox's user, who reads mirrors. Raises ConfigError for a folder
    in use, or a file that is no backup.
    """
    _require_room(data_dir)
    make_passable(data_dir)
    with _scratch(data_dir) as scratch:
        about = await asyncio.to_thread(_unpack, file, scratch)
        await asyncio.to_thread(_require_ours, file, scratch / DATABASE, about)
        await asyncio.to_thread(_note, scratch / DATABASE, about.made_at)
        await _make_mirrors(file, scratch, group)
        await asyncio.to_thread(_put_in_place, scratch, data_dir)
    return about


@contextmanager
def _scratch(data_dir: Path) -> Iterator[Path]:
    """Make a folder for what is not whole yet; its mirrors' user has to get through."""
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=data_dir) as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def _require_room(data_dir: Path) -> None:
    # A log that was left behind would be written into the database that takes its place.
    logs = (f"{DATABASE}-wal", f"{DATABASE}-journal")
    there = [data_dir / name for name in (DATABASE, *logs, MIRRORS)]
    if standing := [path for path in there if path.exists()]:
        raise ConfigError(
            f"`{standing[0]}` is there already. A backup is restored into an empty folder: set"
            " FETTLE_DATA_DIR to one, or move this one aside."
        )


@contextmanager
def _convert_errors(file: Path) -> Iterator[None]:
    """Turn what a file that is no backup brings about into words."""
    try:
        yield
    except (
        *(tarfile.TarError, EOFError, zlib.error, ValidationError, ValueError, KeyError),
        *(GitFailed, RunError, DatabaseError, sqlite3.DatabaseError),
    ) as error:
        raise ConfigError(WRONG.format(file=file, why=f" ({type(error).__name__})")) from error


def _unpack(file: Path, scratch: Path) -> BackupManifest:
    """Write out what is known by its name, and nothing else: whatever the file holds."""
    with _convert_errors(file), tarfile.open(file, mode="r:gz") as tar:
        about: BackupManifest | None = None
        for info in tar:
            content = tar.extractfile(info) if info.isreg() else None
            if content is None:
                raise ValueError("not an ordinary file")
            if about is None:
                if info.name != ABOUT or info.size > SMALL:
                    raise ValueError("it does not say what it is")
                about = BackupManifest.model_validate_json(content.read())
                continue
            _write_out(info, content, scratch)
        if about is None or about.format != FORMAT:
            raise ValueError("of another format")
        return about


def _write_out(info: tarfile.TarInfo, content: IO[bytes], scratch: Path) -> None:
    known = MIRROR.fullmatch(info.name) or SECRET.fullmatch(info.name)
    if not (info.name == DATABASE or known) or info.size > LARGEST_PACK:
        raise ValueError("it holds something else")
    path = scratch / info.name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as out:
        shutil.copyfileobj(content, out, 2**20)
        out.flush()
        os.fsync(out.fileno())


def _require_ours(file: Path, copy: Path, about: BackupManifest) -> None:
    if not copy.is_file():
        raise ConfigError(WRONG.format(file=file, why=""))
    database = Database(f"sqlite:///{copy}")
    try:
        with _convert_errors(file), database.engine.connect() as connection:
            sound = connection.exec_driver_sql("PRAGMA quick_check").scalar()
            present, ours = revisions(connection)
    finally:
        database.close()
    if sound != "ok" or present != about.revision:
        raise ConfigError(WRONG.format(file=file, why=""))
    if present not in ours:
        raise ConfigError(
            f"`{file}` is of a newer Fettle (its tables are at {present}). Restore it with that"
            " version."
        )


def _note(copy: Path, made_at: float) -> None:
    """Leave word in the database that what was delivered since then is to be asked for again."""
    database = Database(f"sqlite:///{copy}")
    try:
        with database.engine.begin() as connection:
            if inspect(connection).has_table(sweeps.name):  # it is of a Fettle that could ask
                put_back(connection, made_at)
    finally:
        database.close()


async def _make_mirrors(file: Path, scratch: Path, group: int) -> None:
    """Make mirrors that hold what the runs had made; their next fetch brings the rest."""
    packed = scratch / MIRRORS
    if not packed.is_dir():
        return
    fresh = Mirrors(scratch / "fresh", group=group)
    for listing in sorted(packed.glob("*.refs")):
        mirror = fresh.open_mirror(int(listing.name.partition("-")[0]))
        with _convert_errors(file), listing.with_suffix(".pack").open("rb") as pack:
            refs = json.loads(listing.read_bytes())
            if not all(name.startswith(f"{RUN_REFS}/") for name in refs):
                raise ValueError("a ref of somebody else")
            await mirror.import_pack(pack.fileno(), LARGEST_PACK)
            for name, oid in refs.items():
                await mirror.keep(require_revision(name), object_id(oid))


def _put_in_place(scratch: Path, data_dir: Path) -> None:
    """Move all of it to its place, the database last: without it nothing was restored."""
    owner = data_dir.stat()
    fresh, secrets = scratch / "fresh", scratch / FOLDER
    if fresh.is_dir():
        fresh.rename(data_dir / MIRRORS)
    for path in sorted(secrets.rglob("*")) if secrets.is_dir() else ():
        target = data_dir / path.relative_to(scratch)
        if path.is_dir():
            continue
        for folder in reversed(target.relative_to(data_dir).parents):
            (data_dir / folder).mkdir(mode=0o700, exist_ok=True)
        if not target.exists():  # what is set up here already stays
            path.rename(target)
    (scratch / DATABASE).rename(data_dir / DATABASE)
    if os.geteuid() == 0 and owner.st_uid:
        _give(data_dir, owner.st_uid, owner.st_gid)


def _give(data_dir: Path, uid: int, gid: int) -> None:
    """Give what root has put there to the folder's owner; mirrors keep their group."""
    os.chown(data_dir / DATABASE, uid, gid)
    for root in (data_dir / FOLDER, data_dir / MIRRORS):
        for path in (root, *root.rglob("*")):
            if path.exists():
                os.chown(path, uid, gid if root.name == FOLDER else -1, follow_symlinks=False)
