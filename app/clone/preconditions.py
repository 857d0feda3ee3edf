"""Where a run on a clone begins: the clone, the commit, and that a branch can be left there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from agents.errors import ConfigError
from app.git import CheckedOutHead, UserClone

SHA1 = 40  # hexadecimal digits of an object id


class PinnedClone(UserClone):
    """A clone as it was when the run began: people may go on committing meanwhile."""

    _pinned: CheckedOutHead | None = None

    async def head(self) -> CheckedOutHead:
        """Return what was checked out at the first call."""
        if self._pinned is None:
            self._pinned = await super().head()
        return self._pinned


@dataclass(frozen=True)
class CloneStart:
    """A clone that a run can begin at."""

    clone: PinnedClone
    head: CheckedOutHead
    path: Path
    """What the person named: the clone, or a folder in it."""

    @property
    def name(self) -> str:
        """Return what people call the clone."""
        return self.path.resolve().name or "clone"


async def start_at(path: Path) -> CloneStart:
    """Return where a run on the clone at `path` begins.

    Raises ConfigError when there is no clone, or when it could not take a branch later on.
    """
    clone = PinnedClone(path)
    head = await clone.head()
    if len(head.commit) != SHA1:
        raise ConfigError(
            f"`{clone.git.gitdir}` names its objects by SHA-256, which Fettle does not support."
        )
    named = await clone.git.local("rev-parse", "--git-path", "objects")
    objects = Path("/", os.fsdecode(named.rstrip(b"\n")))
    if not os.access(objects, os.W_OK):
        raise ConfigError(
            f"`{objects}` cannot be written, so no branch could be left there. Run this as the"
            " clone's owner."
        )
    return CloneStart(clone, head, path)
