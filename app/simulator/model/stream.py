"""Stream a message as the Messages API's server-sent events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

PIECE = 120
"""Characters of text or JSON in one delta."""


def sse(event: Mapping[str, Any]) -> bytes:
    """Return the event as it stands on the wire."""
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), orjson.dumps(event))


def events_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events from message_start to message_stop.

    When the message was cut off by `max_tokens`, so are the arguments of its last tool call.
    """
    start = {**message, "content": [], "stop_reason": None, "stop_details": None}
    start["usage"] = {**message["usage"], "output_tokens": 1}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    last = len(message["content"]) - 1
    for index, block in enumerate(message["content"]):
        cut = message["stop_reason"] == "max_tokens" and index == last
        events += _block_events(index, block, cut=cut)
    told = ("stop_reason", "stop_sequence", "stop_details")
    usage = {k: v for k, v in message["usage"].items() if k.endswith(("tokens", "details"))}
    delta = {key: message.get(key) for key in told}
    events.append({"type": "message_delta", "delta": delta, "usage": usage})
    events.append({"type": "message_stop"})
    return events


def _block_events(index: int, block: Mapping[str, Any], *, cut: bool) -> Iterator[dict[str, Any]]:
    start, deltas = _split_block(block, cut=cut)
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _split_block(
    block: Mapping[str, Any], *, cut: bool
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": t} for t in _pieces(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": text} for text in _pieces(block["text"])]
        return {"type": "text", "text": ""}, deltas
    arguments = orjson.dumps(block["input"]).decode()
    if cut:
        arguments = arguments[: len(arguments) // 2]
    deltas = [{"type": "input_json_delta", "partial_json": text} for text in _pieces(arguments)]
    return {**block, "input": {}}, deltas


def _pieces(text: str) -> list[str]:
    return [text[i : i + PIECE] for i in range(0, len(text), PIECE)]
