"""The port `Model` of who asks none, by setting or policy: whatever needs one ends in words."""

from __future__ import annotations

from typing import NoReturn

from agents.errors import NotAsked
from agents.ports import Query

NONE = (
    "This Fettle asks no model: it was started with FETTLE_MODELS=none, and mends what code alone"
    " can mend. For more, its operator gives it the key of one and takes that setting away."
)
NOT_ABOUT_ALERTS = (
    "The repository's policy has no model asked about alerts (`remediation.models: none`): what"
    " code alone can mend is mended."
)


class NoModel:
    """Refuses each question, for this reason."""

    def __init__(self, reason: str = NONE) -> None:
        self._reason = reason

    async def capabilities(self, model: str) -> NoReturn:  # noqa: ARG002 - the port has it
        """Raise NotAsked."""
        raise NotAsked(self._reason)

    async def answer(self, query: Query) -> NoReturn:  # noqa: ARG002 - the port has it
        """Raise NotAsked."""
        raise NotAsked(self._reason)

    async def close(self) -> None:
        """Have nothing to close."""
