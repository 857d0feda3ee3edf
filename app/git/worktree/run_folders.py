"""The folders of one run on disk: created with safe permissions, and removed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from importlib import resources
from pathlib import Path

from app.git.worktree.untrusted_git import RunFolders
from app.sandbox.path_permissions import make_passable


def remove_tree(folder: Path) -> None:
    """Delete a folder that an agent filled, whatever its permissions and depth."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for command in (("/bin/chmod", "-R", "u+rwX"), ("/bin/rm", "-rf")):
            subprocess.run([*command, "--", folder], check=False, capture_output=True)


def built_for(places: RunFolders) -> str | None:
    """Return the commit that the folders were completely built for, or None."""
    try:
        return places.ready.read_text()
    except FileNotFoundError:
        return None


def lay_out(places: RunFolders, owner: tuple[int, int]) -> None:
    """Create the empty folders of a run: the outer one is Fettle's, the inner the sandbox's."""
    remove_tree(places.run)
    make_passable(places.run.parent)
    places.run.mkdir()
    drop = os.geteuid() == 0
    if drop:
        os.chown(places.run, -1, owner[1])
    places.run.chmod(0o750)
    for folder in (places.files, places.quarantine, places.agent_git):
        folder.mkdir()
        folder.chmod(0o755)
        if drop:
            os.chown(folder, *owner)
    (places.files / ".git").mkdir()  # bubblewrap mounts the agent's git directory on it
    text = resources.files("app.git.worktree").joinpath("exclude.txt").read_text("utf-8")
    places.exclude.write_text(text)
    places.exclude.chmod(0o644)
