"""The result of one check of the doctor: its level, what was found, and the remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True)
class Diagnosis:
    """One line of the doctor's table."""

    about: str
    level: Level
    said: str
    remedy: str = ""
    """What to do; empty when there is nothing to do."""


def ok(about: str, said: str) -> Diagnosis:
    """Return what is as it should be."""
    return Diagnosis(about, "ok", said)


def report_warning(about: str, said: str, remedy: str = "") -> Diagnosis:
    """Return what works and still should be looked at."""
    return Diagnosis(about, "warning", said, remedy)


def report_failure(about: str, said: str, remedy: str = "") -> Diagnosis:
    """Return what keeps Fettle from its work."""
    return Diagnosis(about, "failed", said, remedy)


def report_skip(about: str, said: str) -> Diagnosis:
    """Return what could not be looked at, and what it waits for."""
    return Diagnosis(about, "skipped", said)
