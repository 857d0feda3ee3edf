"""What an MCP server writes, made fit for a model: definitions of its tools, and their results.

Definitions are bounded, cleaned and valid. A schema that the model's API refuses would end the run,
so a definition with such a schema is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from agents.errors import ToolError
from agents.text import clean, printable, truncate, without_hidden
from agents.text.characters import plain_output
from agents.tools.schema import simplify_schema

Schema = dict[str, Any]

DESCRIPTION = 600  # characters
HINT = 300  # characters of a field's description
SCHEMA = 6_000  # characters, as JSON
DEPTH = 10

_TYPES = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NUMBERS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_LISTS = ("anyOf", "oneOf", "allOf")
MOST = 60_000  # characters that are looked at; fewer reach the model


class UnusableSchema(ValueError):
    """The schema cannot be given to a model; the text says why."""


def describe_tool(server: str, text: str | None) -> str:
    """Return a tool's description, marked as the server's own words."""
    return f"A tool of the server {server}, in its own words: {_words(text, DESCRIPTION)}"


def input_schema(schema: Any) -> Schema:
    """Return the schema with keywords that every model API knows. Raises UnusableSchema."""
    if not isinstance(schema, Mapping) or _depth(schema) > DEPTH:
        raise UnusableSchema("its schema is no object, or too deep")
    try:
        body = simplify_schema(schema)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise UnusableSchema(f"its schema cannot be read ({type(error).__name__})") from None
    for key in _LISTS:  # at the top no API takes them
        body.pop(key, None)
    sound = _sound({**body, "type": "object"})
    if len(json.dumps(sound)) > SCHEMA:
        raise UnusableSchema(f"its schema has more than {SCHEMA:,} characters")
    return sound


def _sound(schema: Any) -> Schema:
    if not isinstance(schema, Mapping):
        return {}
    out: Schema = {}
    if (kind := _type(schema.get("type"))) is not None:
        out["type"] = kind
    if isinstance(schema.get("description"), str):
        out["description"] = _words(schema["description"], HINT)
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        out["enum"] = [each for each in schema["enum"] if _plain(each)][:100]
    out |= {key: schema[key] for key in _NUMBERS if _number(schema.get(key))}
    for key in _LISTS:
        if isinstance(schema.get(key), list) and schema[key]:
            out[key] = [_sound(each) for each in schema[key]]
    if isinstance(schema.get("items"), Mapping):
        out["items"] = _sound(schema["items"])
    return out | _object(schema)


def _object(schema: Mapping[str, Any]) -> Schema:
    properties = schema.get("properties")
    if schema.get("type") != "object" and not isinstance(properties, Mapping):
        return {}
    fields = properties if isinstance(properties, Mapping) else {}
    if not all(isinstance(name, str) and _PROPERTY.fullmatch(name) for name in fields):
        raise UnusableSchema("its schema names a field as no API takes it")
    out: Schema = {"properties": {name: _sound(part) for name, part in fields.items()}}
    required = schema.get("required")
    if isinstance(required, list):
        out["required"] = [name for name in fields if name in required]
    if isinstance(schema.get("additionalProperties"), bool):
        out["additionalProperties"] = schema["additionalProperties"]
    return out


def _type(value: Any) -> Any:
    if isinstance(value, str):
        return value if value in _TYPES else None
    if isinstance(value, list):
        known = [each for each in value if isinstance(each, str) and each in _TYPES]
        return list(dict.fromkeys(known)) or None
    return None


def _plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= HINT and value == printable(value)
    return value is None or isinstance(value, bool) or _number(value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15


def _words(text: str | None, limit: int) -> str:
    """Return a text as one line, without what nobody sees."""
    words = " ".join(printable(clean((text or "")[: 4 * limit]).text).split())
    return words if len(words) <= limit else f"{words[:limit]}…"


def _depth(value: Any) -> int:
    """Return how deep a value is nested, counted no further than needed."""
    level, deep = [value], 0
    while level and deep <= DEPTH:
        parts = [each.values() if isinstance(each, Mapping) else each for each in level]
        level = [one for part in parts if not isinstance(part, str) for one in part if _nests(one)]
        deep += 1
    return deep


def _nests(value: Any) -> bool:
    return isinstance(value, Mapping | list)


def text_of(result: CallToolResult) -> str:
    """Return the text; ToolError when the tool says that it failed."""
    parts = [_part(each) for each in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)[: 2 * MOST]]
    text = truncate("\n\n".join(parts), MOST, "ask for less")
    shown, _ = without_hidden(plain_output(text))
    if result.is_error:
        raise ToolError(f"The tool failed: {shown[:4_000] or 'it does not say why'}")
    return shown or "(no text)"


def _part(content: Any) -> str:
    """Return the text of one piece; pictures and sounds are told of, not passed on."""
    match content:
        case TextContent():
            return content.text
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return f"[{resource.uri}]\n{resource.text}"
        case ResourceLink():
            return f"[a link: {content.uri}]"
        case ImageContent() | AudioContent():
            return f"[{content.type} left out]"
    return "[something that is no text left out]"
