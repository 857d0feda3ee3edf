"""Record every request in order, for tests and for the demo's numbers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class LoggedRequest:
    """One request to `/v1/messages`, also when it was refused."""

    number: int
    """From 1."""
    at: float = field(default_factory=time.time)
    model: str = ""
    messages: int = 0
    size: int = 0
    """Bytes of the body."""
    prefix: str = ""
    """sha256 of the canonical model, tools, system and messages: equal for equal questions."""
    dropped: int = 0
    """Thinking blocks that were left out, since they were signed over another prefix."""
    part: str = ""
    turn: int = 0
    usage: dict[str, Any] = field(default_factory=dict)
    status: int | None = None
    error: str | None = None
    fault: str | None = None
    answered: bool = False
    """Whether the last byte of a whole answer was written."""

    @property
    def request_id(self) -> str:
        """Return the id that error answers and headers carry."""
        return f"req_local_{self.number:06d}"
