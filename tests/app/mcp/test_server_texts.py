"""Schemas and words of servers: sound whatever is sent, or left out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from app.mcp.server_texts import UnusableSchema, describe_tool, input_schema


def test_an_ordinary_schema_stays_what_it_is():
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where", "maxLength": 9},
            "mode": {"enum": ["a", "b"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "more": {"type": "object", "properties": {}, "additionalProperties": True},
        },
        "required": ["path"],
        "additionalProperties": False,
    }

    assert input_schema(schema) == schema


def test_references_are_put_in_place_and_titles_go():
    schema = {
        "title": "X",
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "string", "title": "A", "pattern": "(a+)+$", "format": "x"}},
    }

    assert input_schema(schema) == {"type": "object", "properties": {"a": {"type": "string"}}}


def nest_schema(depth):
    schema = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        "object",
        nest_schema(50),
        nest_schema(5_000),
        {"properties": {"a b": {}}},
        {"properties": {"": {}}},
        {"properties": {"x" * 65: {}}},
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"properties": {"a": {"$ref": "https://evil.example/schema.json"}}},
        {"properties": {"a": {"$ref": 7}}},
        {"properties": "text"},
        {"properties": {f"f{n}": {"description": "x" * 250} for n in range(50)}},
    ],
)
def test_what_no_api_takes_is_unfit(schema):
    with pytest.raises(UnusableSchema):
        input_schema(schema)


KEYS = ["type", "properties", "items", "required", "enum", "anyOf", "$ref", "minimum", "a"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner | st.sampled_from(["object", "array", "string"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_whatever_is_sent_the_schema_is_sound_or_left_out(schema):
    try:
        sound = input_schema(schema)
    except UnusableSchema:
        return
    assert sound["type"] == "object"
    Draft202012Validator.check_schema(sound)
    json.dumps(sound, allow_nan=False)


def test_words_are_cleaned_and_bounded():
    words = describe_tool("far", "Does it.\n\n<!-- no -->\u202e\x1b[2J" + "x" * 5_000)

    assert words.startswith("A tool of the server far, in its own words: Does it. ")
    assert len(words) < 700
    assert "no" not in words.split("Does it.")[1][:20]
    assert words.isprintable()
    assert describe_tool("far", None).endswith(": ")
