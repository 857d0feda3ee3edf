"""Build a Python with pytest for the sandbox, as operators mount one for Python repositories."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from pathlib import Path

from agents.errors import ConfigError

LOCK = Path(__file__).with_name("toolchain.lock")
SYSTEM_PYTHON = Path("/usr/bin/python3")  # sandboxes see /usr, and nobody's home


async def make_toolchain(cache: Path, lock: Path = LOCK) -> Path:
    """Return a folder to mount read-only into sandboxes; made once for each lock file.

    Raises ConfigError when it cannot be made.
    """
    if not os.access(SYSTEM_PYTHON, os.X_OK):
        raise ConfigError(
            "The sandbox needs the system's Python, /usr/bin/python3. Install the package python3,"
            " then try again."
        )
    folder = cache / f"toolchain-{_digest(lock)}"
    ready = folder / "ready"
    if not ready.exists():
        await _run(str(SYSTEM_PYTHON), "-m", "venv", "--clear", "--without-pip", str(folder))
        await _run(
            *(sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")),
            *("install", "--quiet", "--disable-pip-version-check", "--no-deps"),
            *("--require-hashes", "--requirement", str(lock)),
        )
        ready.touch()
    return folder


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()[:12]


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await process.communicate()
    if process.returncode != 0:
        last = (errors.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[-1]
        raise ConfigError(f"The toolchain could not be made: {last}")
