"""Sum a conversation up on demand: a signed block that later requests send in its place.

https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from app.simulator.model.conversation import (
    ContentBlock,
    Message,
    blocks_of,
    is_prompt,
    prompt_text,
)
from app.simulator.model.refusal import ErrorAnswer

BETA = "compact-2026-09-04"
"""The header value without which a request may neither ask for a block nor hold one."""
LEAST = 2
"""Messages, below which there is nothing to sum up."""


def is_compacted(message: Message) -> bool:
    """Return whether this is a block alone, which stands for what was said before."""
    blocks = blocks_of(message)
    return message["role"] == "assistant" and [b["type"] for b in blocks] == ["compaction"]


def check_compaction(request: Mapping[str, Any]) -> bool:
    """Return whether the request has to do with compaction at all.

    Raises ErrorAnswer for a block that stands elsewhere than first and alone, or is not as it was
    given out, and where there is nothing to sum up.
    """
    found = [
        (number, block)
        for number, message in enumerate(request["messages"])
        for block in blocks_of(message)
        if block["type"] == "compaction"
    ]
    for number, block in found:
        if number or not is_compacted(request["messages"][0]):
            raise ErrorAnswer(f"messages.{number}: compaction_block_misplaced: it has to be first")
        if block.get("signature") != _sign(str(block.get("content"))):
            raise ErrorAnswer("messages.0.content.0: compaction_signature_invalid")
    if request.get("compaction") and len(request["messages"]) < LEAST:
        raise ErrorAnswer("compaction_nothing_to_summarize")
    return bool(found) or bool(request.get("compaction"))


def make_block(request: Mapping[str, Any]) -> ContentBlock:
    """Return the block for the conversation: what was asked in it, one line each."""
    messages = request["messages"]
    asked = [prompt_text(each).strip().partition("\n")[0] for each in messages if is_prompt(each)]
    lines = "\n".join(f"- {line[:100]}" for line in asked)
    text = f"{len(messages)} messages were summed up. What was asked:\n{lines}"
    return {"type": "compaction", "content": text, "signature": _sign(text), "tool_changes": []}


def _sign(text: str) -> str:
    digest = hashlib.sha256(b"fettle-local-model/compaction" + text.encode()).digest()
    return base64.b64encode(digest).decode()
