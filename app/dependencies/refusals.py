"""Network requests of set-up commands that were refused, as an explanation of failures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

NO_INDEX = "is not a package index of this set-up"

_KEPT = 100


class Refused(Exception):
    """A request that no set-up may make; the text names the request on the present host."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        """The HTTP status for the client."""


@dataclass(frozen=True)
class BlockedRequest:
    """A refused network request of a set-up command, counted."""

    host: str
    port: int
    reason: str
    count: int = 1

    def __str__(self) -> str:
        """Return the blocked request as people read it."""
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.host}:{self.port} {self.reason}{times}"


class Refusals:
    """The refused requests of one set-up, limited in number of kinds."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int, str]] = Counter()

    def add(self, host: str, port: int, reason: str) -> None:
        """Count one refusal."""
        what = (host, port, reason)
        if what in self._counts or len(self._counts) < _KEPT:
            self._counts[what] += 1

    def list_all(self) -> tuple[BlockedRequest, ...]:
        """Return all refusals, the most frequent first."""
        return tuple(BlockedRequest(*what, count) for what, count in self._counts.most_common())
