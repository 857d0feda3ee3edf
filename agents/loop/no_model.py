"""The port `Model` of an installation that asks none: whatever needs one ends in words."""

from __future__ import annotations

from typing import NoReturn

from agents.errors import ModelRefused
from agents.ports import Query

NONE = (
    "This Fettle asks no model: it was started with FETTLE_MODELS=none, and mends what code alone"
    " can mend. For more, its operator gives it the key of one and takes that setting away."
)


class NoModel:
    """Refuses each question."""

    async def capabilities(self, model: str) -> NoReturn:  # noqa: ARG002 - the port has it
        """Raise ModelRefused."""
        raise ModelRefused(NONE)

    async def answer(self, query: Query) -> NoReturn:  # noqa: ARG002 - the port has it
        """Raise ModelRefused."""
        raise ModelRefused(NONE)

    async def close(self) -> None:
        """Have nothing to close."""
