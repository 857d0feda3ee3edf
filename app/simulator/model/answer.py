"""Turn a script's next turn into a Messages API message with deterministic ids and signatures."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.simulator.model.binding import sign
from app.simulator.model.cache import PromptUsage, tokens_of
from app.simulator.model.compaction import make_block
from app.simulator.model.conversation import Message, canonical, result_texts
from app.simulator.model.refusal import ErrorAnswer
from app.simulator.model.script import Cue

_CAPTURE = re.compile(r"\{\{\s*match:\s*(.+?)\s*\}\}")


def prefix_of(request: Mapping[str, Any]) -> str:
    """Return the sha256 of what the answer depends on."""
    asked = [request.get(key) for key in ("model", "tools", "system", "messages")]
    return hashlib.sha256(canonical(asked)).hexdigest()


def message_for(request: Mapping[str, Any], cue: Cue, prompt: PromptUsage) -> dict[str, Any]:
    """Return the whole message; the same request always gets the same one, but for usage.

    `request` is what the model sees: without the thinking blocks that are dropped.
    """
    prefix = prefix_of(request)
    content = _content(request, cue, prefix)
    return {
        "id": f"msg_local_{prefix[:24]}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": "tool_use" if cue.turn.call else "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": _usage(prompt, content),
    }


def summary_for(request: Mapping[str, Any], prompt: PromptUsage) -> dict[str, Any]:
    """Return the message that answers a request to sum the conversation up: its block alone."""
    content = [dict(make_block(request))]
    return {
        "id": f"msg_local_{prefix_of(request)[:24]}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": "compaction",
        "stop_sequence": None,
        "stop_details": None,
        "usage": _usage_beside(prompt, content),
    }


def _usage_beside(prompt: PromptUsage, content: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a usage whose own fields leave out what the summary took."""
    took = _usage(prompt, content)
    names = ("cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens")
    entry = {name: took[name] for name in (*names, "input_tokens", "output_tokens")}
    return {**_usage(PromptUsage(0, 0, 0, 0), ()), "iterations": [{"type": "compaction", **entry}]}


def _content(request: Mapping[str, Any], cue: Cue, prefix: str) -> list[dict[str, Any]]:
    messages = request["messages"]
    content: list[dict[str, Any]] = []
    if request.get("thinking"):
        think = cue.turn.think or f"Turn {cue.number} of the script's part {cue.part!r}."
        thinking = think if request["thinking"].get("display") == "summarized" else ""
        signature = sign(request, thinking)
        content.append({"type": "thinking", "thinking": thinking, "signature": signature})
    if cue.turn.say:
        content.append({"type": "text", "text": _fill(cue.turn.say, messages)})
    for index, call in enumerate(cue.turn.call):
        [(tool, arguments)] = call.items()
        mark = hashlib.sha256(f"{prefix} {index}".encode()).hexdigest()[:24]
        content.append(
            {
                "type": "tool_use",
                "id": f"toolu_{mark}",
                "name": tool,
                "input": _fill(arguments, messages),
            }
        )
    return content


def _fill(value: Any, messages: Sequence[Message]) -> Any:
    """Replace `{{ match: REGEX }}` by what the newest fitting tool result holds there."""
    if isinstance(value, dict):
        return {key: _fill(item, messages) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, messages) for item in value]
    if isinstance(value, str):
        return _CAPTURE.sub(lambda capture: _capture(capture[1], messages), value)
    return value


def _capture(pattern: str, messages: Sequence[Message]) -> str:
    for text in result_texts(messages):
        if found := re.search(pattern, text, re.MULTILINE):
            return found[1] if found.re.groups else found[0]
    raise ErrorAnswer(f"the script looks for {pattern!r} in the tool results, and none has it")


def _usage(prompt: PromptUsage, content: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    thinking = sum(tokens_of(b["thinking"].encode()) for b in content if b["type"] == "thinking")
    written = {
        "ephemeral_5m_input_tokens": prompt.written_5m,
        "ephemeral_1h_input_tokens": prompt.written_1h,
    }
    return {
        "input_tokens": prompt.input,
        "cache_creation_input_tokens": prompt.written_5m + prompt.written_1h,
        "cache_read_input_tokens": prompt.read,
        "cache_creation": written,
        "output_tokens": sum(tokens_of(canonical(block)) for block in content),
        "output_tokens_details": {"thinking_tokens": thinking},
        "service_tier": "standard",
    }
