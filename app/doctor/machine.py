"""This machine: git and the other programs, room on the disk, how long it takes to be sure."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from app.config.settings import Settings
from app.doctor.finding import Diagnosis, ok, report_failure, report_warning

PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where Fettle looks for programs, whatever the variable says."""
GIT = (2, 39)
PROGRAMS = {"bash": "bash", "perl": "perl", "prlimit": "util-linux", "rg": "ripgrep"}
"""Programs that sandboxes and git are started with, and Debian's package of each."""
FSYNCS, SLOW_FSYNC = 20, 0.02
FEW_FILES = 20_000
_MB = 1024 * 1024


async def git_finding() -> Diagnosis:
    """Tell whether git is new enough, and can speak HTTPS."""
    remedy = f"Install git {GIT[0]}.{GIT[1]} or newer: `apt-get install git`."
    program = shutil.which("git", path=PATH)
    if program is None:
        return report_failure("git", f"There is none in {PATH}.", remedy)
    said = await _output(program, "--version")
    found = re.search(r"(\d+)\.(\d+)[\d.]*", said)
    if found is None or (int(found[1]), int(found[2])) < GIT:
        return report_failure("git", f"`{program}` says `{said[:60]}`.", remedy)
    library = Path(await _output(program, "--exec-path"))
    if not (library / "git-remote-https").exists():
        return report_failure(
            "git",
            f"git {found[0]} cannot fetch over HTTPS.",
            "Install its part for HTTPS; some systems have a package of its own, like git-https.",
        )
    return ok("git", f"{found[0]}, with HTTPS")


def programs_finding() -> Diagnosis:
    """Tell which programs are missing."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if missing:
        packages = " ".join(sorted({PROGRAMS[name] for name in missing}))
        said = f"There is no {', '.join(missing)} in {PATH}."
        return report_failure("programs", said, f"Run `apt-get install {packages}`.")
    return ok("programs", ", ".join(PROGRAMS))


def disk_findings(settings: Settings) -> Iterator[Diagnosis]:
    """Tell what room there is for runs, and how fast what is written is safe."""
    folder = _find_existing(settings.data_dir)
    if not os.access(folder, os.W_OK | os.X_OK):
        yield report_failure(
            "disk",
            f"This user may not write to `{folder}`.",
            "Run the doctor as the user that runs Fettle, or set FETTLE_DATA_DIR to a folder of "
            "this user's.",
        )
        return
    yield _room(folder, settings)
    yield _fsync(folder)


def _room(folder: Path, settings: Settings) -> Diagnosis:
    free = shutil.disk_usage(folder).free // _MB
    reserve, run = settings.disk_reserve_mb, settings.sandbox_disk_mb
    said = f"{free / 1024:.1f} GB free in `{folder}`"
    if free < reserve:
        return report_failure(
            "disk",
            f"{said}: below FETTLE_DISK_RESERVE_MB={reserve}, so no command starts.",
            "Make room, or set FETTLE_DATA_DIR to a folder on a larger disk.",
        )
    files = os.statvfs(folder)
    if files.f_files and files.f_favail < FEW_FILES:
        return report_warning(
            "disk", f"{said}, but room for {files.f_favail} files.", "Delete some."
        )
    if free < reserve + run:
        return report_warning(
            "disk",
            f"{said}: a run may fill {run / 1024:.0f} GB and is stopped when the rest is low.",
            "Make room, or set FETTLE_SANDBOX_DISK_MB lower.",
        )
    return ok("disk", said)


def _fsync(folder: Path) -> Diagnosis:
    """Tell how long one delivery waits before GitHub can be told that it is safe."""
    took = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for number in range(FSYNCS):
            os.pwrite(file.fileno(), b"fettle" * 512, number * 4096)
            begun = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - begun)
    usual = statistics.median(took)
    said = f"an fsync takes {usual * 1000:.1f} ms, {max(took) * 1000:.1f} ms at most"
    if usual > SLOW_FSYNC:
        return report_warning("fsync", f"{said}: each delivery waits for one.", "Use a local SSD.")
    return ok("fsync", said)


def _find_existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it: Fettle makes the rest at its start."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir())


async def _output(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"},
    )
    try:
        async with asyncio.timeout(10):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return ""
    return output.decode("utf-8", "replace").strip()
