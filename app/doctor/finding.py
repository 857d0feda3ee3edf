"""What a check of the doctor comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's table."""

    about: str
    level: Level
    said: str
    remedy: str = ""
    """What to do; empty when there is nothing to do."""


def ok(about: str, said: str) -> Finding:
    """Return what is as it should be."""
    return Finding(about, "ok", said)


def warning(about: str, said: str, remedy: str = "") -> Finding:
    """Return what works and still should be looked at."""
    return Finding(about, "warning", said, remedy)


def failed(about: str, said: str, remedy: str = "") -> Finding:
    """Return what keeps Fettle from its work."""
    return Finding(about, "failed", said, remedy)


def skipped(about: str, said: str) -> Finding:
    """Return what could not be looked at, and what it waits for."""
    return Finding(about, "skipped", said)
