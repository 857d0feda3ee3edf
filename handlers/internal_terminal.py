"""Step 2: what the operator asks for at the machine itself; no event of GitHub's.

It waits in the inbox like a delivery, so that a server takes it as one. It can only be put there by
who may write to the database: its name is none that the door lets in, however well it is signed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.requests import Request, request_of
from handlers.ignored import Ignored

EVENT = "fettle.terminal"
"""The dot keeps it apart from all events of GitHub, and from all that the door takes for one."""
ACTION = "asked"


def asked(payload: Mapping[str, Any]) -> Request | Ignored:
    """Ask for what the operator asked for. Raises pydantic.ValidationError."""
    request = request_of(payload["request"])
    if request.via != "terminal":
        return Ignored("it was not asked for at the terminal")
    return request
