"""Step 2: what the front desk needs of the machine: an engine that takes requests."""

from __future__ import annotations

from typing import Protocol

from agents.requests import Command, Request
from handlers.notifications import Notice


class Engine(Protocol):
    """Takes requests and sees to it that each is worked on, whatever happens to the process."""

    async def submit(self, run_id: str, request: Request | Command | Notice) -> None:
        """Take the request durably; the same run id a second time changes nothing.

        Raises TransientError when no request can be taken just now; any other exception means
        that this one request cannot be taken.
        """
        ...
