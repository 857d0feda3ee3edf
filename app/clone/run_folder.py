"""Where a run on a clone keeps its things: made for it, found again when it was interrupted."""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agents.errors import ConfigError, TransientError
from app.git import file_lock
from app.git.worktree import remove_tree
from app.maintenance.clone_folders import CLONES, DATABASE, LOCK
from app.sandbox.path_permissions import make_passable

MIRROR, WORK_TREES, COMMENTS, LOG = "mirror.git", "runs", "comments", "run.log"
FAILED, DONE = "failed-", "done-"
ATTEMPTS = "attempts"
ResumeChoice = Literal["resume", "fresh"]
Choose = Callable[[], Awaitable[ResumeChoice]]
"""Says what becomes of a run that failed: it goes on, or the same begins anew."""


@dataclass
class RunFolder:
    """One run's folder. Its name is the run's id, until it is put aside when the run is over."""

    path: Path
    resumed: bool
    """Whether an earlier process was interrupted in it, or failed."""
    run_id: str = field(init=False)
    earlier: str = field(init=False, default="")
    """The id of the run that failed here, and that this one takes up; empty: none."""

    def __post_init__(self) -> None:
        """Read which of the folder's runs it is."""
        attempts = self.path / ATTEMPTS
        count = len(attempts.read_bytes()) if attempts.is_file() else 0
        ids = [self.path.name, *(f"{self.path.name}-{n}" for n in range(2, count + 2))]
        self.run_id, self.earlier = ids[-1], ids[-2] if count else ""

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

    def put_aside(self, mark: str) -> None:
        """Keep conversation and log of a run that is over; and the commits of one that failed.

        The same question asked again begins anew, or takes up what failed.
        """
        remove_tree(self.work_trees)
        if mark == DONE:  # what it made is on a branch of the clone
            shutil.rmtree(self.mirror, ignore_errors=True)
        self.path = self.path.rename(self.path.with_name(f"{mark}{self.path.name}"))


@asynccontextmanager
async def run_folder(
    data_dir: Path, *asked: str, choose: Choose | None = None, again: ResumeChoice | None = None
) -> AsyncIterator[RunFolder]:
    """Hold the folder of the run that these texts ask for: a new one, or that of a run cut short.

    Where such a run failed, `again` says whether it goes on, else `choose` is asked. Raises
    ConfigError when the folder cannot be made, when another process is at work in it, and when
    nothing is there that could go on.
    """
    key = key_of(*asked)
    try:
        folder = await _find(data_dir / CLONES, key, choose, again) or _make(data_dir, key)
        async with file_lock(folder.path / LOCK, timeout=0):
            yield folder
    except TransientError as error:
        raise ConfigError(
            "Another `fettle` command is at work on this very thing and commit. Wait for it, or"
            " stop it first."
        ) from error


def key_of(*asked: str) -> str:
    """Return how the folders of runs begin that these texts ask for, but for a mark."""
    return hashlib.sha256("\0".join(asked).encode()).hexdigest()[:12]


def find_newest_failed(clones: Path, key: str) -> Path | None:
    """Return the folder of the newest run of this key that failed and can go on."""
    failed = [path for path in _list(clones, f"{FAILED}{key}") if (path / MIRROR).is_dir()]
    return max(failed, key=lambda path: (path / DATABASE).stat().st_mtime, default=None)


async def _find(
    clones: Path, key: str, choose: Choose | None, again: ResumeChoice | None
) -> RunFolder | None:
    """Return the folder of a run that goes on; None where the same begins anew."""
    if cut_short := _list(clones, key):
        if again != "fresh":
            return RunFolder(cut_short[0], resumed=True)
        async with file_lock(cut_short[0] / LOCK, timeout=0):
            RunFolder(cut_short[0], resumed=True).put_aside(FAILED)
        return None
    newest = find_newest_failed(clones, key)
    if newest is None:
        if again == "resume":
            raise ConfigError(NOTHING)
        return None
    if again is None:
        again = await choose() if choose is not None else "fresh"
    if again == "fresh":
        return None
    async with file_lock(newest / LOCK, timeout=0):
        taken_up = newest.rename(newest.with_name(newest.name.removeprefix(FAILED)))
        with (taken_up / ATTEMPTS).open("ab") as attempts:
            attempts.write(b".")
    return RunFolder(taken_up, resumed=True)


def _list(clones: Path, begin: str) -> list[Path]:
    return [path for path in sorted(clones.glob(f"{begin}-*")) if (path / DATABASE).exists()]


NOTHING = (
    "There is no run of this very thing on this commit that failed or was cut short, so none can go"
    " on. Leave `--resume` out to begin one."
)


def _make(data_dir: Path, key: str) -> RunFolder:
    clones = data_dir / CLONES
    try:
        make_passable(clones)
        # Nobody may foresee a run's id: what fences off untrusted text is made from it.
        path = clones / f"{key}-{secrets.token_hex(8)}"
        make_passable(path)
    except OSError as error:
        raise ConfigError(
            f"Fettle keeps its data in `{data_dir}`, which cannot be written: {error.strerror}."
            " Set FETTLE_DATA_DIR to a folder of your own."
        ) from error
    return RunFolder(path, resumed=False)
