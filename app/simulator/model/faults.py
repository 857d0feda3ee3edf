"""Faults that a script can inject into an answer: 429, 529, broken streams, refusals, cut text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "rate_limit",
    "overloaded",
    "stream_error",
    "truncated",
    "drop",
    "refusal",
    "max_tokens",
]
STATUS = {"rate_limit": 429, "overloaded": 529}


@dataclass(frozen=True)
class AnswerFault:
    """One disturbed answer.

    `rate_limit` and `overloaded` are error answers (429, 529); `stream_error` is an error event
    in mid-stream, `truncated` a stream that ends too early, `drop` a connection that breaks in
    mid-stream; `refusal` and `max_tokens` are whole answers with that stop reason.
    """

    kind: Kind
    retry_after: float | None = None
    """Seconds, for the `retry-after` header of an error answer."""

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the error answer."""
        return {} if self.retry_after is None else {"retry-after": f"{self.retry_after:g}"}

    def alter(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the message as the model would have ended it."""
        if self.kind == "refusal":
            details = {"type": "refusal", "category": None, "explanation": "The model declined."}
            return {**message, "content": [], "stop_reason": "refusal", "stop_details": details}
        if self.kind == "max_tokens":
            return {**message, "stop_reason": "max_tokens"}
        return message
