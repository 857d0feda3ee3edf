"""Fettle's own events: what is asked for at the machine or on a page, and what the clock asks for.

They wait in the inbox like deliveries of GitHub's, so that they are dispatched as those are. The
receiver lets neither name in, however well a delivery is signed: who asks by them may write to the
database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.requests import OfferSetup, ProposeGuidance, RemediateAlert, Request, request_of
from handlers.ignored import Ignored

TERMINAL, TERMINAL_ACTION = "fettle.terminal", "asked"
PAGE, PAGE_ACTION = "fettle.page", "asked"
SCHEDULE, SCHEDULE_ACTION = "fettle.schedule", "due"
"""The dot keeps these names apart from GitHub's, and from all that the receiver takes for one."""


def handle_terminal(payload: Mapping[str, Any]) -> Request | Ignored:
    """Return the request that the operator made. Raises pydantic.ValidationError."""
    request = request_of(payload["request"])
    if request.via != "terminal":
        return Ignored("it was not asked for at the terminal")
    return request


def handle_page(payload: Mapping[str, Any]) -> Request | Ignored:
    """Return the request that somebody made on a page. Raises pydantic.ValidationError.

    Whether a person may is asked of GitHub once more when the run begins.
    """
    request = request_of(payload["request"])
    if request.via not in ("terminal", "command"):
        return Ignored("it was not asked for on a page")
    return request


def handle_schedule(
    payload: Mapping[str, Any],
) -> RemediateAlert | ProposeGuidance | OfferSetup | Ignored:
    """Return the request that is due by the clock. Raises pydantic.ValidationError."""
    request = request_of(payload["request"])
    if isinstance(request, ProposeGuidance | OfferSetup):
        return request
    if not isinstance(request, RemediateAlert) or request.via != "schedule":
        return Ignored("it was not asked for by the clock")
    return request
