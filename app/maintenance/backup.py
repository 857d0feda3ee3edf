"""Back up a running server into one file.

The file holds the database as of one moment, with all that unfinished runs have made. Mirrors, work
trees and installed dependencies are made anew later.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from sqlalchemy import func, make_url, select

from app.git import Mirrors, RunObjects, mirror_ids
from app.secrets.files import FOLDER
from app.store.database import Database, sqlite_module
from app.store.migrations import revisions
from app.store.runs import LIVE, StoredCheckpoints
from app.store.tables import checkpoints, runs

FORMAT = 1
ABOUT, DATABASE, MIRRORS = "about.json", "fettle.db", "mirrors"
SECRET = re.compile(rf"{FOLDER}/(?:app/)?[A-Za-z][A-Za-z_.]{{1,60}}")
LARGEST_PACK = 32 * 2**30


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


async def back_up(
    database: Database, data_dir: Path, to: Path, *, with_secrets: bool
) -> BackupManifest:
    """Write the backup, readable by its owner alone, and rename it once complete.

    Raises OSError; RunError when what a run of an older version has made cannot be taken along.
    """
    # Entered by its owner alone, and on the disk of the backup.
    with tempfile.TemporaryDirectory(prefix=f".{to.name}-", dir=to.parent) as folder:
        scratch = Path(folder)
        await _adopt_runs(database, data_dir)
        copy = scratch / DATABASE
        made_at = time.time()
        await asyncio.to_thread(_copy, database, copy)
        live, revision = await asyncio.to_thread(_look_into, copy)
        about = BackupManifest(
            format=FORMAT, made_at=made_at, revision=revision, live=live, secrets=with_secrets
        )
        secrets = list(_secret_files(data_dir)) if with_secrets else []
        whole = scratch / "whole"
        await asyncio.to_thread(_write, whole, about, copy, secrets)
        await asyncio.to_thread(whole.rename, to)
    return about


def _write(whole: Path, about: BackupManifest, copy: Path, secrets: list[tuple[str, Path]]) -> None:
    descriptor = os.open(whole, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as tar:
            _add(tar, ABOUT, about.model_dump_json(indent=2).encode())
            tar.add(copy, DATABASE, filter=_private)
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


def _look_into(copy: Path) -> tuple[int, str]:
    """Return how many runs are under way in it, and the migration that its tables are at."""
    there = Database(f"sqlite:///{copy}")
    try:
        with there.engine.connect() as connection:
            live = connection.scalar(select(func.count()).select_from(runs).where(LIVE)) or 0
            return live, revisions(connection)[0] or ""
    finally:
        there.close()


async def _adopt_runs(database: Database, data_dir: Path) -> None:
    """Put into the database what runs have made that an older version keeps in mirrors alone."""
    kept = select(checkpoints.c.run_id)
    query = select(runs.c.repository_id, runs.c.id).where(LIVE, runs.c.id.not_in(kept))
    mirrors, here = Mirrors(data_dir / MIRRORS, group=-1), set(mirror_ids(data_dir / MIRRORS))
    for row in await database.read(lambda c: c.execute(query).all()):
        if row.repository_id in here:
            stored = StoredCheckpoints(database, row.id)
            await RunObjects(mirrors.open_mirror(row.repository_id), row.id, stored).adopt()
