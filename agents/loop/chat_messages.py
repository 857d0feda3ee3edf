"""Conversations of the Messages API as chat completions have them, and answers back again.

https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agents.ports import Block, Json, Query, Usage

if TYPE_CHECKING:
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletionMessage

STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
UNREADABLE = "unreadable_json"
"""The only argument of a call whose arguments were no JSON: the tool says what it wants instead."""


def to_request(query: Query) -> dict[str, Any]:
    """Return the request without the limit on its answer, whose name differs by server."""
    can = query.capabilities
    request: dict[str, Any] = {
        "model": query.model,
        "messages": [
            {"role": "system", "content": query.system},
            *(each for message in query.messages for each in _to_chat(message)),
        ],
        "tools": [_to_function(tool, strict=can.strict_tools) for tool in query.tools],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if not request["tools"]:
        del request["tools"]
    return request | ({"reasoning_effort": query.effort} if can.effort else {})


def to_blocks(message: ChatCompletionMessage) -> list[Block]:
    """Return an answer's text and calls as content blocks of the Messages API."""
    text = message.content or message.refusal or ""
    blocks: list[Block] = [{"type": "text", "text": text}] if text.strip() else []
    for place, call in enumerate(message.tool_calls or ()):
        if call.type == "function":
            asked = _read_arguments(call.function.arguments)
            blocks.append(
                {
                    "type": "tool_use",
                    "id": call.id or f"call_{place}",
                    "name": call.function.name,
                    "input": asked,
                }
            )
    return blocks


def to_usage(said: CompletionUsage | None) -> Usage:
    """Return the tokens; `prompt_tokens` count those that came from a cache, too."""
    if said is None:
        return Usage()
    details = said.prompt_tokens_details
    cached = (details and details.cached_tokens) or 0
    return Usage(
        input=max(said.prompt_tokens - cached, 0), output=said.completion_tokens, cache_read=cached
    )


def _to_function(tool: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    function = {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": tool["input_schema"],
    }
    if strict and tool.get("strict"):
        function["strict"] = True
    return {"type": "function", "function": function}


def _to_chat(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if message["role"] == "assistant":
        yield from _to_answer(blocks)
        return
    pictures = []
    for block in blocks:
        if block["type"] == "tool_result":
            parts = _list_parts(block.get("content", ""))
            text = "\n".join(part["text"] for part in parts if part["type"] == "text")
            pictures += [part for part in parts if part["type"] != "text"]
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": text}
    said = _list_parts([block for block in blocks if block["type"] != "tool_result"])
    if said or pictures:
        yield {"role": "user", "content": [*pictures, *said]}


def _to_answer(blocks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the answer, less its thoughts: another kind of model made them, and signed them."""
    text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": json.dumps(block["input"])},
        }
        for block in blocks
        if block["type"] == "tool_use"
    ]
    if text or calls:
        answer: dict[str, Any] = {"role": "assistant", "content": text or None}
        yield answer | ({"tool_calls": calls} if calls else {})


def _list_parts(content: str | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_to_part(block) for block in content if block["type"] in {"text", "image"}]


def _to_part(block: Mapping[str, Any]) -> dict[str, Any]:
    if block["type"] == "text":
        return {"type": "text", "text": block["text"]}
    source = block["source"]
    if source["type"] == "base64":
        url = f"data:{source['media_type']};base64,{source['data']}"
    else:
        url = source["url"]
    return {"type": "image_url", "image_url": {"url": url}}


def _read_arguments(text: str) -> Json:
    """Return what was meant for the tool; models without strict schemas write broken JSON, too."""
    try:
        read = json.loads(text or "{}")
    except ValueError:
        read = None
    return read if isinstance(read, dict) else {UNREADABLE: text[:2_000]}
