"""Where the demo keeps its files: a folder that sandboxed processes can read."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from agents.errors import ConfigError
from app.sandbox.path_permissions import make_passable

ROOM = "fettle-demo"
KEPT_SECONDS = 86_400.0


def demo_folder() -> Path:
    """Return the demo's folder, made if need be.

    Sandboxes run as another user when we are root, so every folder above must let others pass:
    a home directory often does not, the system's temporary folder always does. The folder is
    ours alone to write. Raises ConfigError when somebody else's stands in its place.
    """
    folder = Path(tempfile.gettempdir()) / f"{ROOM}-{os.geteuid()}"
    make_passable(folder)
    about = folder.lstat()
    if folder.is_symlink() or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        raise ConfigError(
            f"{folder} is not ours alone, so the demo will not use it. Remove it, or point TMPDIR"
            " at a folder of your own."
        )
    return folder


def share_kits(data: Path, cache: Path) -> None:
    """Let a server that is to keep its data here find the kits of earlier ones."""
    kits = cache / "kits"
    make_passable(kits)
    make_passable(data / "setups")
    (data / "setups" / "kits").symlink_to(kits)


def forget_old(folder: Path) -> None:
    """Remove what demos of earlier days left for people to look at; the cache stays."""
    for place in folder.glob("2*-*"):
        if time.time() - place.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(place, ignore_errors=True)
