"""Where the demo keeps what it makes: a folder that sandboxes can reach."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from agents.errors import ConfigError
from app.sandbox.reach import make_passable

ROOM = "fettle-demo"


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
