"""Errors in the Messages API's shape."""

from __future__ import annotations

from typing import Any

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class ErrorAnswer(Exception):
    """The request gets an error answer with this status."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


def error_body(status: int, text: str, request_id: str) -> dict[str, Any]:
    """Return the JSON of an error answer or error event."""
    error = {"type": TYPES.get(status, "api_error"), "message": text}
    return {"type": "error", "error": error, "request_id": request_id}
