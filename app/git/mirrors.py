"""All mirrors of this machine: one for each repository, named by its id, which renames keep."""

from __future__ import annotations

from pathlib import Path

from app.git.mirror import Mirror


class Mirrors:
    """Finds the mirror of a repository; the same object each time, since it holds the lock."""

    def __init__(self, root: Path, *, group: int) -> None:
        self._root = root
        self._group = group
        self._open: dict[int, Mirror] = {}

    def of(self, repository_id: int) -> Mirror:
        """Return the mirror of this repository; made on disk by its first fetch."""
        if repository_id not in self._open:
            gitdir = self._root / f"{repository_id}.git"
            self._open[repository_id] = Mirror(gitdir, group=self._group)
        return self._open[repository_id]
