"""Bind thinking blocks to all that stood before them, as Claude does: model, system, tools, turns.

The signature holds everything needed to check it, so the server keeps no state: a conversation
whose head or earlier messages were edited, trimmed or re-serialised is refused like the real one
would be, unless the request asks for such blocks to be dropped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from app.simulator.model.conversation import Message, blocks_of, canonical
from app.simulator.model.refusal import ErrorAnswer

BETA = "thinking-binding-controls-2026-08-01"
"""The header value without which a request may not say what becomes of unbound blocks."""


def sign(request: Mapping[str, Any], thinking: str) -> str:
    """Return the signature of a thinking block that answers this request."""
    chain = _begin(request)
    for message in request["messages"]:
        chain.update(canonical(message))
    return _signature(chain, thinking)


def bind(request: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the request as the model sees it, and how many thinking blocks were dropped.

    Raises ErrorAnswer for a thinking block that was not signed over what stands before it, unless
    `thinking.block_binding` says `drop_block`.
    """
    controls = (request.get("thinking") or {}).get("block_binding") or {}
    drop = controls.get("prefix_mismatch_behavior") == "drop_block"
    chain, bound, dropped = _begin(request), [], 0
    for number, message in enumerate(request["messages"]):
        stray = _find_unbound(chain, message)
        if stray and not drop:
            raise ErrorAnswer(
                f"messages.{number}.content.{stray[0]}: Invalid `signature` in `thinking` block:"
                " the block or something before it is not what it was when it was signed"
            )
        kept = _leave_out(message, stray) if stray else message
        dropped += len(stray)
        chain.update(canonical(kept))
        if kept["content"]:
            bound.append(kept)
    return {**request, "messages": bound}, dropped


def _find_unbound(chain: hashlib._Hash, message: Message) -> list[int]:
    return [
        place
        for place, block in enumerate(blocks_of(message))
        if block["type"] == "thinking"
        and block["signature"] != _signature(chain, block["thinking"])
    ]


def _leave_out(message: Message, places: list[int]) -> dict[str, Any]:
    kept = [block for place, block in enumerate(blocks_of(message)) if place not in places]
    return {**message, "content": kept}


def _begin(request: Mapping[str, Any]) -> hashlib._Hash:
    head = [request["model"], request.get("system") or "", request.get("tools") or []]
    return hashlib.sha256(canonical(head))


def _signature(chain: hashlib._Hash, thinking: str) -> str:
    signed = chain.copy()
    signed.update(thinking.encode())
    return base64.b64encode(b"fettle-local-model/" + signed.digest()).decode()
