"""Download a package's source distribution through pip, which checks its hash."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from agents.errors import ConfigError


async def fetch_source(package: str, version: str, requirements: Path, target: Path) -> Path:
    """Have pip download it into the folder, configured like for whoever runs us: mirrors work.

    Raises ConfigError when it cannot be fetched.
    """
    command = (
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--no-binary", package, "--require-hashes"),
        *("--requirement", str(requirements), "--dest", str(target)),
    )
    pip = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await pip.communicate()
    if pip.returncode != 0:
        pinned = f"{package}=={version}"
        last = (errors.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[-1]
        raise ConfigError(
            f"The source of `{pinned}` could not be fetched with pip: {last}. Check that"
            f" `pip download --no-deps --no-binary {package} {pinned}` works here."
        )
    return _only_file(target)


def _only_file(folder: Path) -> Path:
    [file] = folder.iterdir()
    return file


def leave_out(tree: Path, unwanted: Sequence[str]) -> None:
    """Remove files and folders of an unpacked source; what is not there is left out already."""
    for name in unwanted:
        path = tree / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
