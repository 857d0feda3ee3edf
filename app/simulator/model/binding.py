"""Bind thinking blocks to their model and the messages before them, as Claude does.

The signature holds everything needed to check it, so the server keeps no state: an edited,
trimmed or re-serialised conversation is refused like the real one would be.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from app.simulator.model.conversation import Message, blocks_of, canonical
from app.simulator.model.refusal import ErrorAnswer


def sign(model: str, before: Sequence[Message], thinking: str) -> str:
    """Return the signature of a thinking block that follows these messages."""
    return _signature(_chain(model, before), thinking)


def check_bindings(model: str, messages: Sequence[Message]) -> None:
    """Refuse a conversation in which a thinking block, or anything before it, was changed."""
    chain = _chain(model, [])
    for number, message in enumerate(messages):
        for place, block in enumerate(blocks_of(message)):
            if block["type"] != "thinking":
                continue
            if block["signature"] != _signature(chain, block["thinking"]):
                raise ErrorAnswer(
                    f"messages.{number}.content.{place}: Invalid `signature` in `thinking` block:"
                    " the block or a message before it is not what it was when it was signed"
                )
        chain.update(canonical(message))


def _chain(model: str, messages: Sequence[Message]) -> hashlib._Hash:
    chain = hashlib.sha256(model.encode())
    for message in messages:
        chain.update(canonical(message))
    return chain


def _signature(chain: hashlib._Hash, thinking: str) -> str:
    signed = chain.copy()
    signed.update(thinking.encode())
    return base64.b64encode(b"fettle-local-model/" + signed.digest()).decode()
