"""Refuse malformed requests with 400, place and reason, as the Messages API does."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from itertools import pairwise
from typing import Any

import orjson
from pydantic import ValidationError

from app.simulator.model.binding import BETA
from app.simulator.model.compaction import BETA as COMPACTION_BETA
from app.simulator.model.compaction import check_compaction, is_compacted
from app.simulator.model.conversation import ContentBlock, Message, blocks_of
from app.simulator.model.refusal import ErrorAnswer
from app.simulator.model.shapes import CountRequest, MessagesRequest

# What the API can enforce in a strict tool's schema; it refuses every other keyword.
STRICT_KEYWORDS = {"type", "title", "description", "enum", "const", "format", "anyOf", "allOf"}
STRICT_KEYWORDS |= {"properties", "required", "additionalProperties", "items", "minItems"}
STRICT_KEYWORDS |= {"$defs", "$ref"}


def check_headers(headers: Mapping[str, str], keys: Collection[str] = ()) -> None:
    """Refuse a request that lacks a key, one of `keys` if there are any, or the API's version."""
    key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
    if not key:
        raise ErrorAnswer("x-api-key or authorization header is required", 401)
    if keys and key not in keys:
        raise ErrorAnswer("invalid x-api-key", 401)
    if not headers.get("anthropic-version"):
        raise ErrorAnswer("anthropic-version: header is required")


def read_request(
    body: bytes,
    shape: type[MessagesRequest] = MessagesRequest,
    *,
    betas: str = "",
    paused: Container[str] = (),
) -> dict[str, Any]:
    """Return the request as it was sent once it passes every check, or raise ErrorAnswer.

    `betas` is the header `anthropic-beta`: what it does not name may not be asked for. `paused` are
    the answers, as `spell_answer` has them, that a model may be asked to go on with.
    """
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ErrorAnswer(f"The request body is not valid JSON: {error}") from error
    try:
        shape.model_validate(request)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        raise ErrorAnswer(f"{place}: {fault['msg']}" if place else fault["msg"]) from error
    _check_tools(request.get("tools") or [])
    if check_compaction(request) and COMPACTION_BETA not in betas:
        raise ErrorAnswer("compaction: Extra inputs are not permitted")
    _check_turns(request["messages"], paused)
    _check_calls(request["messages"])
    if "block_binding" in (request.get("thinking") or {}) and BETA not in betas:
        raise ErrorAnswer("thinking.adaptive.block_binding: Extra inputs are not permitted")
    return dict(request)


def read_count_request(body: bytes, *, betas: str = "") -> dict[str, Any]:
    """Return the request whose tokens are to be counted."""
    return read_request(body, CountRequest, betas=betas)


def _check_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    names = [tool["name"] for tool in tools]
    if len(names) != len(set(names)):
        raise ErrorAnswer("tools: Tool names must be unique.")
    for number, tool in enumerate(tools):
        place = f"tools.{number}.input_schema"
        if tool["input_schema"].get("type") != "object":
            raise ErrorAnswer(f"{place}.type: Input should be 'object'")
        if tool.get("strict"):
            _check_strict(tool["input_schema"], place)


def _check_strict(schema: Any, place: str) -> None:
    if not isinstance(schema, dict):
        raise ErrorAnswer(f"{place}: not a schema")
    if unknown := sorted(schema.keys() - STRICT_KEYWORDS):
        raise ErrorAnswer(f"{place}: strict schemas do not support {', '.join(unknown)}")
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        raise ErrorAnswer(f"{place}: 'additionalProperties' must be explicitly set to false")
    if schema.get("minItems", 0) not in (0, 1):
        raise ErrorAnswer(f"{place}: 'minItems' other than 0 or 1 is not supported")
    for key in ("properties", "$defs"):
        for name, inner in schema.get(key, {}).items():
            _check_strict(inner, f"{place}.{key}.{name}")
    for key in ("anyOf", "allOf"):
        for number, inner in enumerate(schema.get(key, [])):
            _check_strict(inner, f"{place}.{key}.{number}")
    if "items" in schema:
        _check_strict(schema["items"], f"{place}.items")


def _check_turns(messages: Sequence[Message], paused: Container[str]) -> None:
    """Refuse other orders than ours. Several user messages in a row are one turn to the API."""
    if messages[0]["role"] != "user" and not is_compacted(messages[0]):
        raise ErrorAnswer("messages.0: first message must use the user role")
    if messages[-1]["role"] != "user" and spell_answer(messages[-1]) not in paused:
        raise ErrorAnswer("This model does not support assistant message prefill.")
    for number, (before, after) in enumerate(pairwise(messages), 1):
        twice = before["role"] == after["role"] == "assistant"
        if twice and spell_answer(before) not in paused:
            raise ErrorAnswer(f"messages.{number}: roles must alternate, expected user")


def spell_answer(answer: Message) -> str:
    """Return what an answer says, by which it is known again, whatever a client adds to it."""
    said = (block.get("text") or block.get("signature") or "" for block in blocks_of(answer))
    return "\n".join(map(str, said))


def _check_calls(messages: Sequence[Message]) -> None:
    seen: set[str] = set()
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        blocks = blocks_of(message)
        if message["role"] == "user":
            _check_results(number, blocks, open_calls)
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(open_calls) != len(set(open_calls)) or seen.intersection(open_calls):
            raise ErrorAnswer(f"messages.{number}: `tool_use` ids must be unique")
        seen.update(open_calls)


def _check_results(number: int, blocks: Sequence[ContentBlock], open_calls: Sequence[str]) -> None:
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if missing := sorted(set(open_calls) - set(answered)):
        raise ErrorAnswer(
            f"messages.{number - 1}: `tool_use` ids were found without `tool_result` blocks"
            f" immediately after: {', '.join(missing)}"
        )
    if len(answered) != len(set(answered)) or set(answered) - set(open_calls):
        raise ErrorAnswer(
            f"messages.{number}: each `tool_result` must have one `tool_use` in the previous"
            " message, and each `tool_use` a single result"
        )
    if any(block["type"] != "tool_result" for block in blocks[: len(answered)]):
        raise ErrorAnswer(f"messages.{number}: `tool_result` blocks must come first in the content")
