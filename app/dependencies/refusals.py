"""Network requests of set-up commands that were refused, as an explanation of failures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

NO_INDEX = "is not a package index of this set-up"

_KEPT = 100


class Refused(Exception):
    """Nobody in a set-up may do this; the text says what was tried on the host of the moment."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        """What the client is told, in HTTP."""


@dataclass(frozen=True)
class Refusal:
    """Something that a set-up command wanted and did not get."""

    host: str
    port: int
    reason: str
    count: int = 1

    def __str__(self) -> str:
        """Return it as people read it."""
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.host}:{self.port} {self.reason}{times}"


class Refusals:
    """The refusals of one set-up, a bounded number of kinds."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int, str]] = Counter()

    def add(self, host: str, port: int, reason: str) -> None:
        """Remember one."""
        what = (host, port, reason)
        if what in self._counts or len(self._counts) < _KEPT:
            self._counts[what] += 1

    def listed(self) -> tuple[Refusal, ...]:
        """Return them all, the most frequent first."""
        return tuple(Refusal(*what, count) for what, count in self._counts.most_common())
