"""Read a request's messages: blocks, prompts, tool results, and their canonical bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

Message = Mapping[str, Any]
ContentBlock = Mapping[str, Any]


def blocks_of(message: Message) -> list[ContentBlock]:
    """Return the content as blocks; a string is one text block."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def is_prompt(message: Message) -> bool:
    """Return whether this is a user message that is not only tool results."""
    return message["role"] == "user" and any(
        block["type"] != "tool_result" for block in blocks_of(message)
    )


def prompt_text(message: Message) -> str:
    """Return the text blocks of a message, one after the other."""
    return "\n".join(block["text"] for block in blocks_of(message) if block["type"] == "text")


def result_texts(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the texts of all tool results, newest first."""
    for message in reversed(messages):
        for block in reversed(blocks_of(message)):
            if block["type"] == "tool_result":
                content = block.get("content") or ""
                inner = {"role": "user", "content": content}
                yield content if isinstance(content, str) else prompt_text(inner)


def canonical(value: Any) -> bytes:
    """Return the bytes that count: JSON in the order given, without cache markers.

    The order of keys is kept on purpose: a client that loses it loses the real cache as well.
    """
    return orjson.dumps(_strip_cache_marks(value))


def _strip_cache_marks(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: item if key == "input" else _strip_cache_marks(item)
            for key, item in value.items()
            if key != "cache_control"
        }
    if isinstance(value, list):
        return [_strip_cache_marks(item) for item in value]
    return value
