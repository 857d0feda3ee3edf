"""Fetch a case's source: from the package index that pip uses here, a folder, or an archive."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from backports import tarfile

from agents.errors import ConfigError
from app.demo.package_index.sdist import fetch_source, leave_out
from app.demo.toolchain import make_toolchain
from app.evaluation.case import Case, Source
from app.git import file_lock

WHOLE = "whole"


@dataclass(frozen=True)
class FetchedCase:
    """A case with everything that it is made of, on this machine."""

    case: Case
    before: Path
    """The source with the bug."""
    cured: Path | None
    toolchain: Path | None

    @property
    def hidden(self) -> tuple[Path, tuple[str, ...]]:
        """Return the folder of hidden tests, and which of its paths are some; none means all."""
        judge = self.case.about.judge
        if judge.hidden.folder is not None:
            return self.case.folder / judge.hidden.folder, ()
        if self.cured is None:
            raise AssertionError("the case's file is checked: what is taken has a source")
        return self.cured, judge.hidden.take


async def fetch(case: Case, cache: Path) -> FetchedCase:
    """Return the case with its source fetched into `cache`, where it stays for next time.

    Raises ConfigError when something cannot be had.
    """
    about = case.about
    async with file_lock(cache / "lock"):  # another evaluation may fetch the same
        before = await _source(case, about.source, cache)
        cured = await _source(case, about.cured, cache) if about.cured else None
        toolchain = None
        if about.toolchain is not None:
            toolchain = await make_toolchain(cache, _find_beside(case, about.toolchain))
    fetched = FetchedCase(case, before, cured, toolchain)
    folder, paths = fetched.hidden
    for path in paths or (".",):
        if not (folder / path).exists():
            raise ConfigError(f"The hidden tests of `{case.name}` are not there: {folder / path}.")
    return fetched


async def _source(case: Case, source: Source, cache: Path) -> Path:
    if source.folder is not None:
        return _find_beside(case, source.folder, folder=True)
    key = hashlib.sha256(source.model_dump_json().encode()).hexdigest()[:12]
    target = cache / f"{source.package or case.name}-{source.version or 'archive'}-{key}"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=cache) as made:
            archive = await _archive(case, source, Path(made))
            await asyncio.to_thread(_unpack, archive, source, Path(made) / WHOLE)
            (Path(made) / WHOLE).rename(target)
    return target


async def _archive(case: Case, source: Source, place: Path) -> Path:
    if source.archive is None:
        return await _sdist(source, place)
    archive = _find_beside(case, source.archive)
    if hashlib.sha256(archive.read_bytes()).hexdigest() != source.sha256:
        raise ConfigError(f"{archive} has not the `sha256` that the case's file names.")
    return archive


async def _sdist(source: Source, place: Path) -> Path:
    package, version = str(source.package), str(source.version)
    wanted = place / "requirements.txt"
    wanted.write_text(f"{package}=={version} --hash=sha256:{source.sha256}\n", "utf-8")
    return await fetch_source(package, version, wanted, place / "fetched")


def _unpack(archive: Path, source: Source, target: Path) -> None:
    """Unpack; a single folder around everything, as packages have it, is taken off."""
    target.mkdir()
    try:
        with tarfile.open(archive) as packed:
            packed.extractall(target, filter="data")
    except tarfile.TarError as error:
        raise ConfigError(f"{archive.name} cannot be unpacked: {error}.") from error
    inside = list(target.iterdir())
    if len(inside) == 1 and inside[0].is_dir():
        bare = target.with_name("bare")
        inside[0].rename(bare)
        target.rmdir()
        bare.rename(target)
    leave_out(target, source.leave_out)


def _find_beside(case: Case, name: str, *, folder: bool = False) -> Path:
    """Return a file or folder that the case's file names, relative to itself."""
    path = case.folder / name
    if not (path.is_dir() if folder else path.is_file()):
        what = "folder" if folder else "file"
        raise ConfigError(f"The case `{case.name}` names the {what} `{path}`, which is not there.")
    return path.resolve()
