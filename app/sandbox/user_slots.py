"""A user of its own for each run at work: what the kernel allows a user, no other run uses up.

Such are the inotify instances, message queues, pipes' memory and descriptors in flight of
user_namespaces(7), getrlimit(2) and unix(7). A run keeps its user for as long as it has files.
"""

from __future__ import annotations

import os
import pwd
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

COUNT = 256
"""Users beside the sandbox's own; only one process in so many must ever share."""
OWNED = "ws"
"""The folder in a run's folder that belongs to the run's user."""


class UserSlots:
    """Chooses among the users that follow the sandbox's own by number."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._given: dict[Path, int] = {}

    @property
    def users(self) -> range:
        """Return the numbers of all users of runs, and of the sandbox itself."""
        return range(self._first, self._first + COUNT + 1)

    @classmethod
    def find(cls, first: int) -> UserSlots | None:
        """Return the users after this one; None where Fettle is not root."""
        return cls(first) if os.geteuid() == 0 else None

    def choose(self, folder: Path, like: Path | None = None) -> int:
        """Return the user of the run with this folder: of its files, or one without any here.

        `like`: what the run will work on, whose owner is taken where nobody else has that user.
        """
        user = _read_owner(folder) or self._given.get(folder)
        if user is None or user not in self.users:  # a run of before may have the sandbox's own
            taken = Counter([*self._given.values(), *_list_owners(folder.parent)])
            fewest = min(taken[each] for each in self.users[1:])
            free = [each for each in self.users[1:] if taken[each] == fewest]
            owner = _read_user(like) if like else None
            user = owner if owner in free else secrets.choice(free)
        self._given[folder] = user
        return user

    def release(self, folder: Path) -> int | None:
        """Note that the run has no files any more; return its user where that is nobody now."""
        user = self._given.pop(folder, None)
        return None if user in self._given.values() else user

    def describe(self) -> str:
        """Return what an operator should know of them, in a sentence or two."""
        first, *_, last = self.users
        taken = [each for each in self.users if _is_somebody(each)]
        note = f"Each run at work is a user of its own, between {first} and {last}."
        if not taken:
            return note
        return (
            f"{note} {taken[0]} is somebody on this machine: set FETTLE_SANDBOX_UID to a number"
            f" after which {COUNT} belong to nobody."
        )


def describe_users(slots: UserSlots | None) -> str:
    """Return what an operator should know of the users that runs are."""
    if slots is not None:
        return slots.describe()
    return (
        "All runs are one user: one can use up what the kernel allows a user, such as"
        " inotify instances and message queues. Started as root, in a container or by"
        " systemd, Fettle gives each a user of its own."
    )


@cache
def _is_somebody(user: int) -> bool:
    try:
        pwd.getpwuid(user)
    except KeyError:
        return False
    return True


def _list_owners(runs: Path) -> Iterator[int]:
    with suppress(OSError):
        for folder in runs.iterdir():
            if (owner := _read_owner(folder)) is not None:
                yield owner


def _read_owner(folder: Path) -> int | None:
    return _read_user(folder / OWNED)


def _read_user(path: Path) -> int | None:
    try:
        return path.stat().st_uid
    except OSError:
        return None
