"""Back up a running server into one file.

The file holds the database as of one moment, and the commits of unfinished runs from the mirrors,
which nobody could fetch again. Mirrors, work trees and installed dependencies are made anew later.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import tarfile
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection, make_url, select

from app.git import RUN_REFS, Mirrors, mirror_ids
from app.secrets.files import FOLDER
from app.store.database import Database, sqlite_module
from app.store.migrations import revisions
from app.store.runs import LIVE
from app.store.tables import runs

FORMAT = 1
ABOUT, DATABASE, MIRRORS = "about.json", "fettle.db", "mirrors"
SECRET = re.compile(rf"{FOLDER}/(?:app/)?[A-Za-z][A-Za-z_.]{{1,60}}")
LARGEST_PACK = 32 * 2**30
PACK_SECONDS = 1800.0


class BackupManifest(BaseModel):
    """The description that a backup file holds of itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int
    made_at: float
    """When the database was copied, in unix seconds."""
    revision: str
    """The migration that the tables are at."""
    live: int
    """Runs under way."""
    secrets: bool


class _MirrorBackup(NamedTuple):
    """What a mirror keeps of runs: refs, and a file with all objects that they lead to."""

    refs: dict[str, str]
    pack: Path


class _FileSink:
    """Takes what a command says into a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = 0

    def feed(self, data: bytes) -> bool:
        """Write it; False once it is too much."""
        self._size += len(data)
        self._file.write(data)
        return self._size <= LARGEST_PACK


async def back_up(
    database: Database, data_dir: Path, to: Path, *, with_secrets: bool
) -> BackupManifest:
    """Write the backup, readable by its owner alone, and rename it once complete.

    Mirrors are packed before and after the database is copied: before it for runs that end
    meanwhile, after it so that the packs hold every commit the copy mentions. Raises OSError.
    """
    # Entered by its owner alone, and on the disk of the backup.
    with tempfile.TemporaryDirectory(prefix=f".{to.name}-", dir=to.parent) as folder:
        scratch = Path(folder)
        before = await _pack_mirrors(await database.read(_live), data_dir, scratch, 0)
        copy = scratch / DATABASE
        made_at = time.time()
        await asyncio.to_thread(_copy, database, copy)
        live, revision = await asyncio.to_thread(_look_into, copy)
        after = await _pack_mirrors(live, data_dir, scratch, 1)
        about = BackupManifest(
            format=FORMAT,
            made_at=made_at,
            revision=revision,
            live=sum(map(len, live.values())),
            secrets=with_secrets,
        )
        secrets = list(_secret_files(data_dir)) if with_secrets else []
        whole = scratch / "whole"
        await asyncio.to_thread(_write, whole, about, copy, [before, after], secrets)
        await asyncio.to_thread(whole.rename, to)
    return about


def _write(
    whole: Path,
    about: BackupManifest,
    copy: Path,
    packs: list[dict[int, _MirrorBackup]],
    secrets: list[tuple[str, Path]],
) -> None:
    descriptor = os.open(whole, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as tar:
            _add(tar, ABOUT, about.model_dump_json(indent=2).encode())
            tar.add(copy, DATABASE, filter=_private)
            for number, each in enumerate(packs):
                for ident, (refs, pack) in each.items():
                    _add(tar, f"{MIRRORS}/{ident}-{number}.refs", json.dumps(refs).encode())
                    tar.add(pack, f"{MIRRORS}/{ident}-{number}.pack", filter=_private)
            for name, path in secrets:
                tar.add(path, name, filter=_private)
        file.flush()
        os.fsync(file.fileno())


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(data), int(time.time())
    tar.addfile(_private(info), io.BytesIO(data))


def _private(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.mode, info.uid, info.gid, info.uname, info.gname = 0o600, 0, 0, "", ""
    return info


def _secret_files(data_dir: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted((data_dir / FOLDER).rglob("*")):
        name = path.relative_to(data_dir).as_posix()
        if path.is_file() and not path.is_symlink() and SECRET.fullmatch(name):
            yield name, path


# --- the database -------------------------------------------------------------------------------


def _copy(database: Database, copy: Path) -> None:
    """Copy it as of one moment, while others read and write."""
    module = sqlite_module()
    with (
        closing(module.connect(make_url(str(database.engine.url)).database)) as source,
        closing(module.connect(copy)) as target,
    ):
        source.backup(target)


def _look_into(copy: Path) -> tuple[dict[int, list[str]], str]:
    there = Database(f"sqlite:///{copy}")
    try:
        with there.engine.connect() as connection:
            return _live(connection), revisions(connection)[0] or ""
    finally:
        there.close()


def _live(connection: Connection) -> dict[int, list[str]]:
    """Return the runs under way, by their repository."""
    found: dict[int, list[str]] = {}
    for row in connection.execute(select(runs.c.repository_id, runs.c.id).where(LIVE)):
        found.setdefault(row.repository_id, []).append(row.id)
    return found


# --- the mirrors --------------------------------------------------------------------------------


async def _pack_mirrors(
    live: Mapping[int, Collection[str]], data_dir: Path, folder: Path, number: int
) -> dict[int, _MirrorBackup]:
    """Pack what the mirrors keep of these runs, with all the history that it is built on."""
    root, found = data_dir / MIRRORS, {}
    mirrors = Mirrors(root, group=-1)
    for ident in set(mirror_ids(root)) & set(live):
        git = mirrors.open_mirror(ident).git
        places = [f"{RUN_REFS}/{run_id}/" for run_id in live[ident]]
        listed = await git.local("for-each-ref", "--format=%(refname) %(objectname)", *places)
        refs = dict(line.split(" ") for line in listed.decode().splitlines())
        if not refs:
            continue
        pack = folder / f"{ident}-{number}.pack"
        wanted = "".join(f"{oid}\n" for oid in sorted(set(refs.values()))).encode()
        how = ("pack-objects", "--revs", "--stdout", "--quiet")
        with pack.open("wb") as file:
            await git.local(*how, stdin=wanted, timeout=PACK_SECONDS, out=_FileSink(file))
        found[ident] = _MirrorBackup(refs, pack)
    return found
