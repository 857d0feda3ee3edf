"""The port for CI: check runs and statuses of a commit, and their logs."""

from __future__ import annotations

from typing import Literal, Protocol

from agents.requests import Frozen

CheckConclusion = Literal[
    "success",
    "failure",
    "neutral",
    "cancelled",
    "skipped",
    "timed_out",
    "action_required",
    "startup_failure",
    "stale",
    "",
]


class ForeignCheck(Frozen):
    """A check as it stands on one commit. Names and logs are other people's text: untrusted."""

    id: int
    name: str
    app: str
    """The name of the App whose check it is, like `GitHub Actions`."""
    ended: CheckConclusion
    """How; empty while it is at work."""
    attempts: tuple[CheckConclusion, ...] = ()
    """How its earlier attempts on the same commit ended, oldest first."""
    summary: str = ""
    """What it says of itself: its output's title, summary and annotations, bounded."""
    url: str = ""
    has_log: bool = True
    """Whether it has a log that Fettle may read, as far as can be told without reading it."""


class CiChecks(Protocol):
    """Reads the checks. Never Fettle's own ones."""

    async def list_checks(self, commit: str) -> tuple[ForeignCheck, ...]:
        """Return the newest attempt of each check on the commit."""
        ...

    async def log(self, check: ForeignCheck, *, limit: int) -> str:
        """Return the end of what its failed steps wrote, at most `limit` characters.

        Where there is no log to be read, its text says why: no permission, another App's check.
        """
        ...
