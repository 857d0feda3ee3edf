"""Schemas for the model: what pydantic writes, reduced to what the Messages API takes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

Schema = dict[str, Any]

_FOLD = re.compile(r"(?<!\n)\n(?![\n\s*-])")
_FORMATS = frozenset(
    ("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid")
)
_KEPT = frozenset(("type", "enum", "const", "description"))
_WORDS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matching the regular expression {}",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
    "default": "default: {}",
    "format": "format: {}",
}


def describe(docstring: str | None) -> str:
    """Return a docstring as running text: wrapped lines joined, paragraphs and lists kept."""
    return _FOLD.sub(" ", inspect.cleandoc(docstring or ""))


def tool_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema of a tool's arguments: what the model has to know to make a call.

    Left out is what pydantic alone holds it to (what is more, what is empty), and null, since the
    model leaves an optional argument out: every request of every session carries these schemas.
    """
    body = simplify_schema(schema)
    body.pop("additionalProperties", None)
    properties = body.get("properties", {})
    body["properties"] = {name: _reduce(part) for name, part in properties.items()}
    return body


def simplify_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema without titles, references and its own description."""
    body = _inline(schema, schema.get("$defs", {}))
    body.pop("description", None)
    return body


def _reduce(part: Schema) -> Schema:
    """Return an argument's schema without null, without a default that is empty."""
    given = [each for each in part.get("anyOf", []) if each != {"type": "null"}]
    if len(given) == 1:
        part = {key: value for key, value in part.items() if key != "anyOf"} | given[0]
    empty = {"minLength", *(["default"] if not part.get("default", True) else [])}
    return {key: value for key, value in part.items() if key not in empty}


def strict_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema as `strict: true` takes it.

    What strict mode does not know, such as lengths and patterns, becomes words in the
    description: the model reads it, and pydantic holds it to it. Raises TypeError for shapes that
    strict mode cannot promise at all (free-form objects, fixed tuples, recursion).
    """
    body = _strict(simplify_schema(schema), "input")
    body.pop("description", None)
    return body


def describe_faults(error: ValidationError) -> str:
    """Return what is wrong with the values, one line each, for the model."""
    lines = []
    for fault in error.errors(include_url=False):
        place = ".".join(str(part) for part in fault["loc"]) or "input"
        sent = fault.get("input")
        shown = f" (sent: {sent!r:.80})" if isinstance(sent, str | int | float) else ""
        lines.append(f"- `{place}`: {fault['msg'].removeprefix('Value error, ')}{shown}")
    return "\n".join(lines)


def find_unusable(value: Any) -> str | None:
    """Return what no file name, command or commit can hold, if a string within holds it."""
    if isinstance(value, str):
        if "\0" in value:
            return "a NUL character"
        return "half a character" if any("\ud800" <= char <= "\udfff" for char in value) else None
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((fault for part in parts if (fault := find_unusable(part))), None)


# --- as pydantic means it -----------------------------------------------------------------------


def _inline(
    schema: Mapping[str, Any], defs: Mapping[str, Any], within: tuple[str, ...] = ()
) -> Schema:
    """Return the schema with references put in place and titles left out."""
    out: Schema = {}
    for key, value in schema.items():
        if key == "$ref":
            out = _inline(_target(value, defs, within), defs, (*within, value)) | out
        elif key == "properties":
            out[key] = {name: _inline(part, defs, within) for name, part in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, Mapping):
            out[key] = _inline(value, defs, within)
        elif key in ("anyOf", "oneOf", "allOf"):
            out[key] = [_inline(part, defs, within) for part in value]
        elif key == "description":
            out[key] = describe(value)
        elif key not in ("title", "$defs", "discriminator"):
            out[key] = value
    return out


def _target(reference: str, defs: Mapping[str, Any], within: tuple[str, ...]) -> Mapping[str, Any]:
    if reference in within:
        raise TypeError(f"{reference} holds itself: strict tools cannot be recursive")
    target: Mapping[str, Any] = defs[reference.removeprefix("#/$defs/")]
    return target


# --- as strict mode takes it --------------------------------------------------------------------


def _strict(schema: Schema, place: str) -> Schema:
    out = {key: value for key, value in schema.items() if key in _KEPT}
    rest = {key: value for key, value in schema.items() if key not in _KEPT}
    if "enum" in out or "const" in out:
        out.pop("type", None)
    elif parts := _alternatives(rest):
        out["anyOf"] = [_strict(part, place) for part in parts]
    elif out.get("type") == "object":
        out |= _strict_object(rest, place)
    elif out.get("type") == "array":
        out |= _strict_array(rest, place)
    elif "type" not in out:
        raise TypeError(f"{place} has no type: say which values it takes")
    elif rest.get("format") in _FORMATS:
        out["format"] = rest.pop("format")
    return _with_words(out, rest)


def _alternatives(rest: Schema) -> list[Schema]:
    found: list[Schema] = rest.pop("anyOf", None) or rest.pop("oneOf", None) or []
    return found


def _strict_object(rest: Schema, place: str) -> Schema:
    if rest.pop("additionalProperties", False) or "properties" not in rest:
        raise TypeError(f"{place} is a free-form object: name its fields")
    properties = rest.pop("properties")
    out: Schema = {
        "properties": {name: _strict(part, f"{place}.{name}") for name, part in properties.items()},
        "additionalProperties": False,
    }
    if required := rest.pop("required", None):
        out["required"] = required
    return out


def _strict_array(rest: Schema, place: str) -> Schema:
    if "prefixItems" in rest or "items" not in rest:
        raise TypeError(f"{place} is a list without one type of entries")
    items = _strict(rest.pop("items"), f"{place}[]")
    if "properties" in items:
        items.pop("description", None)  # the list's own says what they are
    out: Schema = {"items": items}
    if rest.get("minItems") in (0, 1):
        out["minItems"] = rest.pop("minItems")
    return out


def _goes_without_saying(key: str, value: Any) -> bool:
    """Return whether no model comes near this bound: pydantic alone holds it to it."""
    if key == "minLength" or (key == "default" and not value):
        return True
    return value in _FAR.get(key, range(0))


_FAR = {"minimum": range(2), "maxItems": range(8, 10**6), "maxLength": range(500, 10**9)}


def _with_words(out: Schema, rest: Schema) -> Schema:
    rest = {key: value for key, value in rest.items() if not _goes_without_saying(key, value)}
    if not rest:
        return out
    keys = sorted(rest, key=lambda key: list(_WORDS).index(key) if key in _WORDS else len(_WORDS))
    words = "; ".join(_WORDS.get(key, f"{key}: {{}}").format(rest[key]) for key in keys)
    described_before = out.get("description", "")
    return out | {"description": f"{described_before} ({words})".strip()}
