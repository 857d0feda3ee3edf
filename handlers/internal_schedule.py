"""Step 2: what Fettle asks of itself by the clock; no event of GitHub's.

It waits in the inbox like a delivery, so that it is dispatched as one. Its name is none that the
door lets in, however well it is signed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.requests import RemediateAlert, request_of
from handlers.ignored import Ignored

EVENT = "fettle.schedule"
"""The dot keeps it apart from all events of GitHub, and from all that the door takes for one."""
ACTION = "due"


def due(payload: Mapping[str, Any]) -> RemediateAlert | Ignored:
    """Ask for what is due. Raises pydantic.ValidationError."""
    request = request_of(payload["request"])
    if not isinstance(request, RemediateAlert) or request.via != "schedule":
        return Ignored("it was not asked for by the clock")
    return request
