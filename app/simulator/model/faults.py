"""Faults that a script can inject into an answer: 429, 529, broken streams, refusals, cut text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

FaultKind = Literal[
    "rate_limit",
    "overloaded",
    "stream_error",
    "truncated",
    "drop",
    "refusal",
    "max_tokens",
    "pause_turn",
    "model_context_window_exceeded",
    "blank_text",
]
STATUS = {"rate_limit": 429, "overloaded": 529}


@dataclass(frozen=True)
class AnswerFault:
    """One disturbed answer.

    `rate_limit` and `overloaded` are error answers (429, 529); `stream_error` is an error event
    in mid-stream, `truncated` a stream that ends too early, `drop` a connection that breaks in
    mid-stream; `refusal`, `max_tokens`, `pause_turn` (in the middle of the words, before any call)
    and `model_context_window_exceeded` are whole answers with that stop reason; `blank_text` is one
    with a text of white space before its calls.
    """

    kind: FaultKind
    retry_after: float | None = None
    """Seconds, for the `retry-after` header of an error answer."""
    category: str = ""
    """What a refusal is for, like `cyber`."""

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the error answer."""
        return {} if self.retry_after is None else {"retry-after": f"{self.retry_after:g}"}

    def alter(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the message as the model would have ended it."""
        if self.kind == "refusal":
            details = {
                "type": "refusal",
                "category": self.category or None,
                "explanation": "The model declined.",
            }
            return {**message, "content": [], "stop_reason": "refusal", "stop_details": details}
        if self.kind == "pause_turn":
            content = [block for block in message["content"] if block["type"] != "tool_use"]
            return {**message, "content": content, "stop_reason": self.kind}
        if self.kind in ("max_tokens", "model_context_window_exceeded"):
            return {**message, "stop_reason": self.kind}
        if self.kind == "blank_text":
            calls = [block for block in message["content"] if block["type"] == "tool_use"]
            said = [block for block in message["content"] if block["type"] != "tool_use"]
            return {**message, "content": [*said, {"type": "text", "text": " \n"}, *calls]}
        return message
