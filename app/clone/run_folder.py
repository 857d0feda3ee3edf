"""Where a run on a clone keeps its things: made for it, found again when it was interrupted."""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.errors import ConfigError, TransientError
from app.git import file_lock
from app.git.worktree import remove_tree
from app.maintenance.clone_folders import CLONES, DATABASE, LOCK
from app.sandbox.path_permissions import make_passable

MIRROR, WORK_TREES, COMMENTS, LOG = "mirror.git", "runs", "comments", "run.log"
FAILED = "failed-"


@dataclass
class RunFolder:
    """One run's folder. Its name is the run's id, until it is put aside as failed."""

    path: Path
    resumed: bool
    """Whether an earlier process was interrupted in it."""

    @property
    def run_id(self) -> str:
        """Return the run's id."""
        return self.path.name

    @property
    def mirror(self) -> Path:
        """Return where the history is, and what was committed to it."""
        return self.path / MIRROR

    @property
    def database_url(self) -> str:
        """Return the run's own database: the conversation, and the engine's record."""
        return f"sqlite:///{self.path / DATABASE}"

    @property
    def log(self) -> Path:
        """Return the file with what the machine had to say about the run."""
        return self.path / LOG

    @property
    def work_trees(self) -> Path:
        """Return the folder for work trees."""
        return self.path / WORK_TREES

    @property
    def comments(self) -> Path:
        """Return the folder of what would be said on the issue."""
        return self.path / COMMENTS

    def read_comments(self) -> list[str]:
        """Return what would be said on the issue."""
        return [path.read_text("utf-8") for path in sorted(self.comments.glob("*.md"))]

    def remove(self) -> None:
        """Remove all of it."""
        remove_tree(self.path)

    def put_aside(self, *, history: bool) -> None:
        """Keep what tells why the run failed: conversation and log; on request its commits, too.

        The run is over, so the same question asked again begins anew.
        """
        remove_tree(self.work_trees)
        if not history:
            shutil.rmtree(self.mirror, ignore_errors=True)
        self.path = self.path.rename(self.path.with_name(f"{FAILED}{self.path.name}"))


@asynccontextmanager
async def run_folder(data_dir: Path, *asked: str) -> AsyncIterator[RunFolder]:
    """Hold the folder of the run that these texts ask for: a new one, or that of a run cut short.

    Raises ConfigError when it cannot be made, or when another process is at work in it.
    """
    key = hashlib.sha256("\0".join(asked).encode()).hexdigest()[:12]
    folder = _found_or_made(data_dir, key)
    try:
        async with file_lock(folder.path / LOCK, timeout=0):
            yield folder
    except TransientError as error:
        raise ConfigError(
            "Another `fettle` command is at work on this very thing and commit. Wait for it, or"
            " stop it first."
        ) from error


def _found_or_made(data_dir: Path, key: str) -> RunFolder:
    clones = data_dir / CLONES
    try:
        make_passable(clones)
        for found in sorted(clones.glob(f"{key}-*")):
            if (found / DATABASE).exists():
                return RunFolder(found, resumed=True)
        # Nobody may foresee a run's id: what fences off untrusted text is made from it.
        path = clones / f"{key}-{secrets.token_hex(8)}"
        make_passable(path)
    except OSError as error:
        raise ConfigError(
            f"Fettle keeps its data in `{data_dir}`, which cannot be written: {error.strerror}."
            " Set FETTLE_DATA_DIR to a folder of your own."
        ) from error
    return RunFolder(path, resumed=False)
