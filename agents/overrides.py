"""The record of a version override that a fix needed, until it can be removed."""

from __future__ import annotations

from datetime import date

from pydantic import BaseModel, ConfigDict, Field


class Overruled(BaseModel):
    """An override as it was written: enough to know it again to the letter."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    versions: tuple[tuple[str, str], ...]
    """Each vulnerable version of the package, and the one that took its place."""
    reason: str
    """What was written beside the entry."""
    until: date
    """The day on which somebody has to look at it again."""


class Retire(Overruled):
    """The wish to do without an override."""

    run_id: str
    """The run that made it."""
    days: int = Field(gt=0, le=3650)
    """After so many it is looked at again, if it is needed still."""
